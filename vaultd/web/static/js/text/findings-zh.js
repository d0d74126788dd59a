// What the doctor says, in Chinese. Reasons that a parser gives stay as they are: they are looked up by their words.

const WHOLE = {
  // how to mend
  "choose between the two versions at the markers, and take the markers out": "在标记处选定一个版本，并删去标记",
  "only properties of vaultd differ: `vaultd conflicts --solve` merges them": "只有 vaultd 的属性不同：点“合并”，或运行 `vaultd conflicts --solve`",
  "the original is gone: rename the copy, or delete it": "原文件已不在：把副本改名，或删除副本",
  "copy what you want to keep into the original, then delete the copy": "把想保留的内容抄进原文件，然后删除副本",
  "change Obsidian's excluded files or vault.exclude": "修改 Obsidian 的排除文件或 vault.exclude",
  "mend the line in Obsidian's source view; until then the note is searchable and never written": "在 Obsidian 源码模式中改好这一行；在此之前仍可检索，但绝不写入",
  "it gets an id of its own when it is quiet; nothing to do": "静置后会得到自己的 id；无需操作",
  "correct the value; until then the nearest valid one counts": "请改正这个值；在此之前按最接近的有效值计算",
  "download it": "请先下载",
  "nothing, if meant so": "若是有意为之，无需操作",
  "wait for the next comparison, or `vaultd reindex`": "等待下次比对，或运行 `vaultd reindex`",
  "bring the folder back, or `vaultd confirm-deletions`": "恢复文件夹，或运行 `vaultd confirm-deletions`",
  "see the daemon's log": "请看服务日志",
  "`vaultd reindex`": "运行 `vaultd reindex`",
  "`vaultd git install`, once in each clone": "在每个克隆中运行一次 `vaultd git install`",
  "finish or abort it": "完成它，或中止它",
  "`vaultd lifecycle claim` takes it over": "运行 `vaultd lifecycle claim` 可接管",
  "use 3.11 or newer": "请用 3.11 或更新版本",
  "make room on that disk": "请清理磁盘空间",
  "mend that, or set embedding.provider": "请解决它，或设置 embedding.provider",
  "mend that; what waits is embedded then": "请解决它；等待的内容随后会补上向量",
  "nothing; where it grows, set watch.mode to polling": "无需操作；若持续增加，请把 watch.mode 设为 polling",
  "make it writable; what waits is written then": "让它可写；等待的内容随后写入",
  "make room on it; what waits is written then": "请清理空间；等待的内容随后写入",
  "`vaultd lifecycle claim` on the one that shall": "在负责的那台机器上运行 `vaultd lifecycle claim`",
  "`vaultd doctor --fix` writes it anew": "运行 `vaultd doctor --fix` 会重写它",
  "`vaultd doctor --fix` joins the two": "运行 `vaultd doctor --fix` 会把两者合并",
  "`vaultd doctor --fix` removes it": "运行 `vaultd doctor --fix` 会删除它",
  "nothing; the lines are passed over": "无需操作；这些行会被跳过",
  "nothing; both are read, no count comes twice": "无需操作；两份都会读取，计数不会重复",
  "nothing; where that machine is gone for good, delete the folder": "无需操作；若那台机器不再使用，可删除该文件夹",
  // what is wrong
  "conflict markers of a merge that was not finished": "合并没有完成，留有冲突标记",
  "carries the id of another note": "与另一篇笔记的 id 相同",
  "the merge driver is not set up in this clone": "这个克隆没有设置合并驱动",
  "the merge driver's command is gone": "合并驱动的命令已不存在",
  "git add may stumble over files that are just being written": "git add 可能碰到正在写入的文件",
  "the disk is read-only": "磁盘只读",
  "the disk is full": "磁盘已满",
  "a sync tool's copy of a journal": "同步工具留下的日志副本",
  "a temporary file of a write that was cut short": "写入中断留下的临时文件",
  "search goes by words alone": "只按词检索",
  // where
  settings: "设置", index: "索引", watcher: "文件监视", vault: "笔记库", environment: "环境", lifecycle: "生命周期", embedding: "向量模型", "state folder": "状态文件夹",
};

const PARTLY = [
  [/^conflict copies beside it: (.*)$/s, "旁边有冲突副本：$1"],
  [/^(\d+) notes differ from the vault$/, "$1 篇笔记与笔记库不一致"],
  [/^(\d+) notes vanished at once; they are kept in the index$/, "$1 篇笔记同时消失；仍留在索引里"],
  [/^(\d+) passages have no embedding$/, "$1 个段落没有向量"],
  [/^a git (.*) is under way: nothing is written$/, "git $1 正在进行：不写入任何内容"],
  [/^(.*) owns the life cycle: this machine forgets and moves nothing$/, "生命周期归 $1 所有：本机不遗忘、不移动"],
  [/^Python (\S+) is too old$/, "Python $1 太旧"],
  [/^only (\d+) MiB are free$/, "只剩 $1 MiB 空间"],
  [/^the link (.*) leads nowhere since its note was moved to (.*)$/s, "链接 $1 已失效：所指笔记移到了 $2"],
  [/^let it say (.*)$/s, "请改为 $1"],
  [/^(\d+) changes were found by comparing: no event had told of them$/, "比对时发现 $1 处没有事件通知的改动"],
  [/^(\d+) machines share this vault, and each of them forgets and moves$/, "$1 台机器共用这个笔记库，每台都会遗忘和移动"],
  [/^(\d+) lines can't be read; what they alone told is lost$/, "$1 行无法读取；只记在这些行里的内容已丢失"],
  [/^this machine has told nothing for (\d+) days; what it counted still counts$/, "这台机器 $1 天没有记录；它的计数仍然有效"],
  [/^the frontmatter is not YAML: (.*)$/s, "frontmatter 不是有效的 YAML：$1"],
  [/^the frontmatter is longer than (.*) characters$/, "frontmatter 超过 $1 个字符"],
  [/^no properties stand between the first two `---` lines$/, "开头两条 `---` 之间没有属性"],
  [/^byte (\S+) at offset (\d+) is not UTF-8$/, "偏移 $2 处的字节 $1 不是 UTF-8"],
  [/^the bytes are UTF-16, not UTF-8 .*$/, "文件是 UTF-16，不是 UTF-8"],
  [/^a NUL byte stands at offset (\d+)$/, "偏移 $1 处有 NUL 字节"],
  [/^the note is (\S+) bytes long, more than (\S+)$/, "笔记有 $1 字节，超过 $2"],
  [/^(\w+): (.*) is outside (\S+)$/s, "$1: $2 超出 $3"],
  [/^(\w+): (.*) is below 0$/s, "$1: $2 小于 0"],
  [/^(\w+): (.*) is not text$/s, "$1: $2 不是文本"],
  [/^(\w+): (.*) is not a list$/s, "$1: $2 不是列表"],
  [/^(\w+): (.*) is not a number$/s, "$1: $2 不是数字"],
  [/^(\w+): (.*) is not a checkbox$/s, "$1: $2 不是复选框的值"],
  [/^(\w+): (.*) is not a date & time$/s, "$1: $2 不是日期时间"],
  [/^search goes by words alone: (.*)$/s, "只按词检索：$1"],
];

/** A sentence of the doctor's in Chinese, or as it is. */
export function said(text) {
  if (text in WHOLE) return WHOLE[text];
  const found = PARTLY.find(([pattern]) => pattern.test(text));
  return found ? text.replace(...found) : text;
}
