"""The topic areas of a text by the words in it: for memories that nobody has sorted, where no chat model is asked.

The areas are those that the chat model is offered, so that both ways of sorting end in the same folders.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from vaultd.core.text import share_of_cjk

IN_NAME: Final = 3.0  # what a word counts where it stands; names say best what a text is about
IN_TAGS: Final = 2.0
IN_BODY: Final = 1.0
LEAST: Final = 2.0  # points of an area: one word of the body alone is chance
SECOND: Final = 0.7  # share of the best area's points from which a second area counts too
MOST_AREAS: Final = 2
BODY_CHARACTERS: Final = 4_000

_ZH: Final[Mapping[str, str]] = {
    "饮食": "吃饭 做饭 早饭 午饭 晚饭 早餐 午餐 晚餐 餐厅 外卖 火锅 奶茶 咖啡 食谱 菜谱 好吃 煮 炒菜 烘焙 蛋糕 厨房 面条 饺子",
    "居家": "房子 租房 房东 搬家 装修 家具 打扫 洗衣 水管 电费 物业 阳台 收纳 冰箱 空调 漏水 邻居",
    "出行": "地铁 公交 打车 开车 堵车 驾照 通勤 高铁 火车票 停车 自行车 骑车",
    "购物": "买了 下单 快递 退货 淘宝 京东 拼多多 打折 购物 价格 网购 超市",
    "宠物": "猫咪 小猫 小狗 狗狗 宠物 铲屎 猫粮 狗粮 遛狗 兽医 养猫 养狗",
    "就医": "医院 医生 看病 门诊 手术 挂号 体检 药片 吃药 发烧 感冒 过敏 牙医 拔牙 化验 疫苗 疼痛 复查",
    "运动": "跑步 健身 游泳 瑜伽 爬山 打球 篮球 羽毛球 马拉松 锻炼 训练计划 拉伸",
    "睡眠": "失眠 熬夜 睡不着 睡眠 早起 午睡 睡眠质量 噩梦",
    "心理": "抑郁 焦虑症 心理咨询 咨询师 心理医生 恐慌 惊恐 倦怠 内耗",
    "家庭": "妈妈 爸爸 父母 母亲 父亲 外婆 奶奶 爷爷 外公 姐姐 妹妹 哥哥 弟弟 孩子 女儿 儿子 家里人 亲戚 过年回家",
    "恋爱": "男朋友 女朋友 恋爱 分手 约会 喜欢他 喜欢她 表白 对象 结婚 婚礼 老公 老婆 前任 暗恋",
    "友情": "朋友 闺蜜 好友 室友 发小 老同学 聚会",
    "争执": "吵架 吵了 冷战 道歉 误会 生他的气 生她的气 争执",
    "职场": "上班 加班 同事 老板 领导 开会 会议 客户 绩效 晋升 辞职 离职 公司 工资 汇报 出差 团队 实习生",
    "项目": "项目 上线 需求 排期 版本 里程碑 交付 截止日期 评审 进度",
    "求职": "面试 简历 求职 实习 offer 录用 投递 招聘 笔试 秋招 春招 内推",
    "财务": "存款 理财 基金 股票 贷款 房贷 信用卡 预算 记账 报销 税 工资条 账单 保险",
    "考试": "考试 备考 考研 高考 四级 六级 雅思 托福 复习 真题 分数 及格",
    "课程": "上课 老师 作业 课程 论文 毕业 导师 学校 大学 课堂 讲座 实验报告",
    "阅读": "读书 看书 小说 书里 这本书 作者 读完 图书馆 书单 读后感",
    "语言": "学英语 学日语 单词 口语 语法 翻译 听力 外语 发音",
    "编程": "代码 编程 程序 bug 接口 函数 部署 数据库 python javascript java rust git 重构 测试用例 服务器 前端 后端 报错",
    "人工智能": "模型 大模型 人工智能 提示词 chatgpt claude gpt llm 向量 训练 推理 机器学习 神经网络",
    "硬件": "显卡 电脑 主板 手机 键盘 硬盘 内存条 树莓派 路由器 显示器 耳机",
    "游戏": "游戏 通关 副本 原神 steam 主机 手柄 段位 开黑 boss",
    "音乐": "唱歌 吉他 钢琴 乐队 演唱会 专辑 合唱 歌词 听歌 练琴",
    "影视": "电影 电视剧 剧集 动漫 番剧 导演 演员 影院 追剧 纪录片",
    "写作": "写作 写小说 文章 稿子 投稿 日记 诗 大纲 连载",
    "艺术": "画画 绘画 摄影 展览 美术馆 素描 水彩 设计稿 手工 陶艺",
    "旅行": "旅行 旅游 机票 酒店 签证 景点 行程 出国 民宿 攻略 古镇 海边",
    "情绪": "难过 开心 生气 委屈 焦虑 崩溃 哭了 害怕 孤独 烦躁 压力 心情 疲惫 很累 平静",
    "成长": "成长 自律 习惯 反思 改变自己 目标 进步 坚持 勇气 自信",
    "梦境": "梦见 做梦 梦里 梦到 梦境",
    "回忆": "小时候 回忆 童年 想起 那一年 怀念 从前",
    "愿望": "愿望 希望以后 梦想 想要成为 计划以后 心愿",
}
_EN: Final[Mapping[str, str]] = {
    "food": "cook* dinner lunch breakfast recipe* restaurant* coffee tea bake* baking kitchen meal* soup bread cake*",
    "home": "flat apartment landlord rent furniture clean* laundry leak* plumber balcony fridge heating neighbour* neighbor*",
    "getting around": "bus metro subway tram commute* driving licence parking bicycle bike* traffic",
    "shopping": "bought order* delivery refund* shop* discount* price* parcel* supermarket",
    "pets": "cat cats kitten* dog dogs puppy vet pet pets",
    "medical care": "doctor* hospital surgery dentist clinic medicine pill* fever allerg* vaccine* diagnos* symptom* prescription",
    "exercise": "run running gym swim* yoga workout* marathon climb* hike hiking stretch*",
    "sleep": "sleep* insomnia nap nightmare* asleep awake",
    "mental health": "therap* depress* panic counsell* burnout",
    "family": "mother father mum mom dad parents sister brother grandmother grandfather daughter son aunt uncle cousin*",
    "love": "boyfriend girlfriend dating wedding marriage married husband wife partner breakup",
    "friendship": "friend friends flatmate* roommate* classmate*",
    "conflict": "quarrel* argued argument* apolog* misunderst* fight",
    "workplace": "office boss colleague* meeting* client* customer* salary promotion resign* overtime manager team intern*",
    "projects": "project* deadline* release* milestone* roadmap sprint* launch* deliver*",
    "job hunting": "interview* resume cv offer recruit* hiring application*",
    "money": "budget* savings loan* mortgage invest* stock* tax taxes bill bills insurance invoice*",
    "exams": "exam* test* grade* score* revision revise",
    "courses": "lecture* homework thesis professor* university school course* class assignment* seminar",
    "reading": "book* novel* author* chapter* read reading library",
    "languages": "vocabulary grammar pronunciation translat* language* spanish french japanese german",
    "programming": "code coding bug* function* deploy* database* python javascript rust git refactor* server* api compile* backend frontend",
    "artificial intelligence": "llm model* prompt* chatgpt claude gpt embedding* neural training inference",
    "hardware": "laptop gpu keyboard monitor* router disk phone headphone* printer",
    "games": "game* steam console* multiplayer quest* boss level*",
    "music": "guitar piano choir sing* song* concert* album* band rehears*",
    "film": "film* movie* series cinema director* actor* documentary",
    "writing": "essay* poem* draft* manuscript* write writing blog*",
    "art": "paint* draw* photograph* exhibition* museum* sketch* watercolour* pottery",
    "travel": "travel* flight* hotel* visa trip itinerary airport passport abroad luggage",
    "feelings": "sad happy angry lonely anxious anxiety afraid cried upset stress* exhausted calm",
    "growth": "habit* goal* discipline courage confiden* progress improve*",
    "dreams": "dream dreamt dreamed nightmare",
    "memories": "childhood remember* nostalg* grew",
    "wishes": "wish wishes someday hope hopes",
}


def _compiled(words: str) -> re.Pattern[str]:
    latin = [
        re.escape(word.rstrip("*")) + (r"\w*" if word.endswith("*") else "")
        for word in words.split()
        if word[0] < "\u0080"
    ]
    other = [re.escape(word) for word in words.split() if word[0] >= "\u0080"]
    parts = [*other, *([rf"\b(?:{'|'.join(latin)})\b"] if latin else [])]
    return re.compile("|".join(parts))


@cache
def _patterns(chinese: bool) -> dict[str, re.Pattern[str]]:
    return {area: _compiled(words) for area, words in (_ZH if chinese else _EN).items()}


def areas_of(name: str, tags: tuple[str, ...], body: str) -> tuple[str, ...]:
    """One or two topic areas, the closest first, in the language of the text; none where its words say too little."""
    text = body[:BODY_CHARACTERS]
    patterns = _patterns(share_of_cjk(f"{name} {text}") > 0.5)
    places = ((name, IN_NAME), (" ; ".join(tags), IN_TAGS), (text, IN_BODY))
    points: dict[str, float] = {}
    for area, pattern in patterns.items():
        found = sum(weight * len(set(pattern.findall(place.casefold()))) for place, weight in places)
        if found >= LEAST:
            points[area] = found
    best = sorted(points, key=lambda area: -points[area])[:MOST_AREAS]
    return tuple(area for area in best if points[area] >= SECOND * points[best[0]])
