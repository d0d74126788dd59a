// What each setting does, in Chinese; a setting that is missing here is told in English.
export default {
  language: "工具回答的语言", timezone: "编号和回答中日期的时区，如 Asia/Shanghai；留空：本机时区", log_level: "日志的详细程度", transport: "`vaultd serve` 以何种方式提供 MCP", strict_llm: "无法脱水的记忆显示错误，而不是原文", state_dir: "存放索引、日志和令牌的文件夹；留空：系统默认位置",
  "vault.path": "笔记库的文件夹", "vault.exclude": "不纳入的路径，用通配写法：Private/**、*.draft.md", "vault.delete": "删除的记忆去哪里：笔记库的 .trash 文件夹，或彻底删除",
  "memory.root": "笔记库里存放记忆文件夹的子目录；留空：根目录", "memory.search_own_notes": "检索时也找你自己的笔记，单独列出",
  "server.host": "监听地址；0.0.0.0 表示所有网卡", "server.port": "监听端口；0 表示任取空闲端口", "server.public_url": "从外部访问的地址；设置后为远程连接启用 OAuth", "server.allowed_hosts": "浏览器和客户端还可使用的主机名", "server.token": "客户端的令牌；未给出时自动生成并保存",
  "index.uri": "共享索引的地址 s3://… 或 db://…；留空：本机的状态文件夹", "watch.mode": "文件事件，或为网络盘轮询；auto 按磁盘决定", "watch.reconcile_minutes": "每隔多少分钟全面比对笔记库与索引",
  "embedding.provider": "local：内置模型，数据不离开本机；openai：任何兼容接口；none：只按词", "embedding.model": "接口的模型名，如 gemini-embedding-001；内置模型不用", "embedding.base_url": "接口地址", "embedding.api_key": "接口密钥", "embedding.dimensions": "向接口要求的向量长度；0：由模型决定", "embedding.timeout_s": "等待回答的秒数",
  "llm.model": "模型名；`vaultd config models` 列出接口提供的模型", "llm.base_url": "接口地址；Ollama 用 http://localhost:11434/v1", "llm.api_key": "接口密钥", "llm.max_tokens": "最长回答（token）", "llm.temperature": "0：总取最可能的词", "llm.timeout_s": "等待回答的秒数", "llm.daily_request_cap": "每天最多请求远程模型多少次，含向量；0：不限", "llm.price_input": "发送一百万 token 的价格；0：未知", "llm.price_output": "回答一百万 token 的价格；0：未知", "llm.currency": "价格的货币，如 USD 或 CNY",
  "matching.topic": "best：词、意思、模糊名称中最合适的；fuzzy：只用模糊名称", "matching.fuzzy_threshold": "记忆要被找到所需的匹配分", "matching.max_results": "未指定数量时返回多少条",
  "scoring_weights.topic_relevance": "主题的权重", "scoring_weights.emotion_resonance": "情绪的权重", "scoring_weights.time_proximity": "距上次用到的时间的权重", "scoring_weights.importance": "重要度的权重", "scoring_weights.name_weight": "模糊匹配中名称的权重", "scoring_weights.domain_weight": "模糊匹配中主题域的权重", "scoring_weights.tags_weight": "模糊匹配中标签的权重", "scoring_weights.content_weight": "模糊匹配中正文的权重",
  "decay.lambda": "记忆每天失去的比例，即 e^(-λ·天数) 中的 λ", "decay.threshold": "低于此分的记忆归档", "decay.check_interval_hours": "两轮遗忘之间的小时数", "decay.protect_importance_floor": "重要度达到此值的记忆从不归档；0：关闭", "decay.emotion_weights.base": "平静记忆的权重", "decay.emotion_weights.arousal_boost": "完全唤醒时额外增加的权重",
  "merge.threshold": "匹配分高于此值的两段文字视为同一条记忆", "merge.mode": "rewrite：由对话模型合写成一段；append：新文字接在旧文字下面",
  "journal.project_every": "两次把计数写入同一笔记的最短间隔：30min、24h，0 = 每次想起都写；auto：有 git 时 24h，否则 10min", "journal.quiet_s": "写入前笔记须静置的秒数",
  "cards.history": "每张卡片保留的旧版本数", "cards.max_injected": "每轮对话最多放入几张卡片；0：不放", "cards.threshold": "卡片所需的最终分", "cards.relevance_floor": "卡片另需的相关度；0：不要求", "cards.recency": "step：30 天内满分，之后下降；smooth：同样，但第 30 天没有断崖", "cards.used_similarity": "回答与卡片的相似度达到此值，算作用过",
  "gateway.upstream": "对话转发到的接口地址；留空：对话模型的地址", "gateway.api_key": "转发地址自己的密钥", "gateway.model": "请求未指定模型时使用的模型；留空：对话模型", "gateway.save_conversations": "把对话作为笔记存入 conversations/", "gateway.max_injected_tokens": "每轮最多放入对话的 token", "gateway.timeout_s": "等待上游下一段文字的秒数",
  "wikilink.enabled": "在新记忆里加 [[双链]]", "wikilink.use_tags": "标签变成双链", "wikilink.use_domain": "主题域变成双链", "wikilink.use_auto_keywords": "突出的词变成双链", "wikilink.auto_top_k": "最多几个词变成双链", "wikilink.min_keyword_len": "变成双链的最短词长（字符）", "wikilink.exclude_keywords": "从不变成双链的词",
  "surface.seed": "固定浮现的随机顺序，用于测试和演示；留空：随机", "hook.url": "询问哪个服务；留空：本笔记库的服务", "hook.skip": "什么也不做",
};
