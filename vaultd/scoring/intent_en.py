"""English cues for what a message wants. A weight of 3 settles it, 2 speaks for it, 1 leans to it."""

from __future__ import annotations

import re
from typing import Final

from vaultd.core.card import Intent
from vaultd.scoring.intent_shape import Shape, cues

_IDEA = (
    "people|humans?|humanity|society|mankind|life|death|love|freedom|justice|truth|happiness|identity|memory|art|beauty"
    "|forgiveness|kindness|honesty|loyalty|grief|friendships?|trust|marriage|suffering|success|failure|privacy"
    "|loneliness"
    "|solitude|courage|wisdom|progress|power|equality|faith|guilt|shame|nostalgia|ambition|fate|morality|responsibility"
    "|machines?|technology|language|tradition|parents|children|strangers|someone|anyone|nobody|everyone"
    "|empathy|cruelty|revenge|mercy|gratitude|jealousy|maturity|ageing|aging|consciousness|reality|choice"
    "|meaning|values?|belief|relationships?"
)
_LOW = (
    "tired|exhausted|lonely|alone|sad|scared|afraid|anxious|lost|overwhelmed|ashamed|proud|grateful|relieved|guilty"
    "|numb"
    "|empty|hurt|stuck|confused|worried|hopeless|burned out|burnt out|drained|torn|nervous|jealous"
    "|heartbroken|depressed"
    "|frustrated|insecure|restless|at peace|terrified|bitter|angry|not okay|a failure|not enough|good enough"
)
_THING = (
    "visa|train|flight|hotel|tax|laptop|phone|vitamins?|medicine|dose|battery|printer|wi-?fi|router|password"
    "|excel|python"
    "|spreadsheet|javascript|sql|git|linux|windows|server|oven|stain|rent|insurance|passport|landlord|dentist|mortgage"
)

CUES: Final = cues(
    {
        Intent.SEEKING: {
            4: r"""
                (?:do|did|don't|can|could) you (?:still |even |happen to )?(?:remember|recall)
                ^(?:you )?remember (?:when|that|the|what|how|who|where|my|our|me)
                remind me (?:again |of )?(?:what|who|which|when|where|how|why|of)\b
                (?:can't|cannot|don't|couldn't) (?:quite |really )?(?:remember|recall) (?:what|where|when|who|which)
                (?:can't|cannot|don't|couldn't) (?:quite |really )?(?:remember|recall) (?:the|how|if)
                forg[eo]t(?:ten)? (?:what|where|when|who|which|the name|how|whether|if)\b
            """,
            3: r"""
                (?:did|have|had) (?:i|we) (?:ever |already )?(?:tell|told|mention|say|said|show|ask|talk|discuss)
                (?:did|have|had) (?:i|we) (?:ever |already )?(?:been|met|paid|finish)
                (?:what|which|who|where)\b.{0,40}\b(?:did|was|were|had|have) (?:i|we|you|it|that|my|our)\b(?! you\b)
                (?:when|how)\b.{0,40}\b(?:did|was|were|had|have) (?:i|we|you|it|that|my|our)\b(?! you\b)
                (?:i|we|you) (?:once |already |had |have )?(?:told|mentioned|said|talked|promised|recommended)
                (?:i|we|you) (?:once |already |had |have )?(?:suggested|agreed)
                (?:look|search|go) (?:back )?(?:up |for |through |in )?(?:my|our|your) (?:memor|notes|old|earlier|past)
            """,
            2: r"""
                (?:what|who|which|where|when) (?:was|were) (?:that|it|my|she|he|they|her|his|their|our|those)\b
                what (?:was|were) the (?:name|title|address|colou?r|song|place|book|reason|date|word|dish|film)\b
                what (?:was|were) the (?:movie|plan)\b
                what did (?:the|our|my|your|her|his) (?:\w+ )?\w+ (?:say|tell|think|want|give|recommend|call|decide)
                what did (?:the|our|my|your|her|his) (?:\w+ )?\w+ (?:promise)
                (?:the|that|those) (?:\w+ ){0,3}(?:i|we|you) (?:told|mentioned|said|read|saw|watched|bought|visited)
                (?:the|that|those) (?:\w+ ){0,3}(?:i|we|you) (?:met|went|had)
                \b(?:did|had) (?:i|we|you|she|he|they)\b.{0,60}\?
                \b(?:last time|the other day|back then|a while ago|that time|previously)\b.{0,60}\?
                how long (?:ago|has it been|have i|have we|since)
                what(?:'s| is) (?:my|our)\b
                when(?:'s| is) (?:my|our|her|his|mom's|dad's)\b
                who (?:told|gave|said|recommended|introduced)
                \bagain\?
            """,
            1: r"\bremember\b|\blast time\b|\brecall\b|\bdid (?:i|we)\b",
        },
        Intent.REFLECTIVE: {
            3: r"""
                i(?:'ve| have)? (?:been |just |still |suddenly |really |always |never |often )*(?:feel|felt|feeling)\b
                (?:look|think)(?:ing)? back
                i(?:'ve| have)? (?:just |only |finally |slowly |been )*(?:reali[sz]|notic)
                i(?:'ve| have)? (?:just |only |finally |slowly |been )*(?:learn(?:ed|t|ing) (?:to|that|how))
                i(?:'ve| have)? (?:come to (?:see|terms|accept)|finally understand)
                i (?:keep|can't stop|can't help|couldn't stop|catch myself) \w+ing
                (?:i wonder|wondering) (?:if|whether|why|what|when|how) (?:i|my)\b
                i (?:really |still |deeply )?(?:regret|miss|envy|blame|resent|forgive)\b
                part of me
                (?:don't|do not|not) (?:even )?(?:know|sure) (?:who|what|why|if|whether|how|where) i\b
                why (?:do|am|did|can't|don't) i (?:always|still|keep|so|never|even|care|feel|get|just|let|push|hide)
                how (?:do|can|could|should) i (?:ever |even |finally )?(?:stop|forgive|let go|live with|face)
                how (?:do|can|could|should) i (?:ever |even |finally )?(?:get over|trust|accept)
                (?:made|makes|making) me (?:feel|cry|reali|wonder|sad|proud|ashamed|anxious)
                i (?:almost |nearly |just )?(?:cried|broke down|burst into)
                i used to (?:be|think|believe|feel|love|hate|want)
                i wish i (?:had|could|hadn't|was|were|knew|didn't)
                (?:proud|ashamed|scared|afraid|hard(?:er)?|kind(?:er)?|patient|gentle|honest) (?:of|to|on|with) myself
            """,
            2: rf"""
                i(?:'m| am|'ve been| have been| was| get| got) (?:\w+ ){{0,3}}(?:{_LOW})\b
                (?:i think|i guess|maybe|perhaps) i(?:'m| am|'ve| was| have| had| need| want)\b
                i(?:'ve| have|'m| am) (?:really )?(?:changed|changing|grown|growing|healing|becoming|different)
                (?:lately|these days|for months|for years|all my life|as a (?:kid|child)|growing up),? i\b
                \bi(?:'m| am) (?:finally|starting|beginning|learning)\b
                (?:weigh(?:s|ing)?|heavy) on
                my (?:own )?(?:heart|chest|past|childhood|fears?|anger|grief|shame|anxiety|loneliness|feelings)\b
                my (?:own )?(?:(?:younger|old) self)\b
                \bi (?:don't|do not|no longer|can't) (?:\w+ ){{0,2}}(?:recogni[sz]e|feel|enjoy|trust|let go|forgive)
                \bi (?:don't|do not|no longer|can't) (?:\w+ ){{0,2}}(?:cry|care)
                hits? me (?:that|how|today|hard|when)
                it (?:still |really )?(?:hurts|aches|stings)
                \bi (?:still )?remember (?:the|how|her|his|my|when|that|being)
                \bi (?:never|always|almost|should have) (?:\w+ )?(?:told|said|let|dared|thought|knew|asked|cried)
                \bi (?:could have|couldn't|didn't) (?:\w+ )?(?:told|said|let|dared|thought|knew|asked|cried)
                (?:feels|felt|feeling) (?:\w+ ){{0,2}}(?:heavier|heavy|lighter|empty|wrong|strange|unreal|hollow|lonely)
            """,
            1: r"\bmyself\b|\bi feel\b|\bmy (?:life|mother|father|mom|dad|parents|fault)\b|\bi don't know\b|\balone\b",
        },
        Intent.CASUAL: {
            3: r"""
                ^(?:hi+|hello|hey|heya|yo|sup|morning|good (?:morning|evening|afternoon|night)|gm|gn|night|howdy)\b
                ^(?:lol|omg|wow|ugh|meh|yay|woohoo|hmm+|aww+|oops|yep|nope|ok|okay|cool|nice|thanks|thank you|thx)\b
                ^(?:cheers|bye)\b
                ^(?:see (?:you|ya)|welcome back|guess what)\b
                \b(?:ha(?:ha)+|lol|lmao|hehe)
                how(?:'s| is| are) (?:you|it going|your day|things|life)\b
                what(?:'s|s) up\b
                (?:a|any|another|good) (?:good |bad |silly )?jokes?\b
                would you rather
                i(?:'m| am) (?:so |really |kinda )?(?:bored|hungry|back|home|sleepy|full|awake|off to bed|freezing)\b
            """,
            2: r"""
                (?:just|finally) (?:had|ate|saw|woke|got (?:home|back|up|in)|finished|came|made|watched|spilled)
                (?:just|finally) (?:dropped|heard)
                (?:it's|its|it is|so) (?:\w+ )?(?:hot|cold|rainy|sunny|raining|snowing|windy|chilly|gorgeous)\b
                (?:it's|its|it is|so) (?:\w+ )?(?:lovely|weekend)\b
                (?:best|worst|yummiest|tastiest) (?:\w+ ){0,3}ever
                what are you (?:up to|doing)
                (?:so|super|too) (?:cute|funny|tasty|yummy|adorable)\b
                (?:have a|enjoy your|happy) (?:nice |good |great )?(?:day|evening|weekend|birthday)
                [!~]{2,}$
                (?:do you like|what's your favou?rite)\b
                ^(?:\w+ )?(?:mon|tues|wednes|thurs|fri)day (?:again|at last|finally|already|vibes)
                \b(?:brought|smiled|laughed|dropped|spilled|sang|baked)\b.{0,40}\b(?:today|this morning)\b
            """,
            1: r"!$|\b(?:btw|anyway)\b|^(?:just|so|well|oh|ah|look)\b",
        },
        Intent.DEEP_DISCUSSION: {
            3: rf"""
                what does it (?:really |even |actually )?mean to
                (?:meaning|nature|purpose|point|essence|price|value) of (?:a )?(?:{_IDEA}|work|time|pain|home)\b
                (?:meaning|nature|purpose|point|essence|price|value) of (?:a )?(?:living|being|existence)\b
                (?:think|believe|suspect|feel|agree)(?:ing)? (?:that |about |whether )?(?:{_IDEA}|a person|all|most)\b
                (?:think|believe) (?:it's|there)\b
                is (?:it|there) (?:ever |even |really |truly |always |such |any )*(?:possible|right|wrong|moral)
                is (?:it|there) (?:ever |even |really |truly |always |such |any )*(?:immoral|ethical|selfish)
                is (?:it|there) (?:ever |even |really |truly |always |such |any )*(?:fair|cowardly|better to)
                is (?:it|there) (?:ever |even |really |truly |always |such |any )*(?:a thing as|virtue|worth)
                why (?:do|are|is|does) (?:people|we|humans?|so many|society|everyone|love|one)\b
                what makes (?:a|an|us|someone|life|people|something|love|friendship|one)\b
                philosoph
                \bmoral
                ethic
                metaphys
                existential
                free will
                determinis
                human nature
                stoic
                utilitarian
                meritocra
                \bargue
                push back
                prove me wrong
                change my mind
                convince me
                devil's advocate
                poke holes
                contradict me
                challenge (?:me|that)
                what(?:'s| is| would be) your (?:take|view|opinion|stance|position|honest view)
                can (?:a person|one|we|two people|an ai|{_IDEA}) (?:ever |really |truly |actually |still |exist)
                ^(?:is|are|does|do|can|could) (?:\w+ing )?(?:{_IDEA})\b
                ^(?:{_IDEA}) (?:is|isn't|are|requires|without|means|seems|can|and)\b
                ^(?:suppose|imagine|assume|let's say|what if)\b
            """,
            2: r"""
                \b(?:people|humans|humanity|society|everyone|one) (?:are|is|tend|say|always|often|never|who|can)\b
                \b(?:people|humans|humanity|society|everyone|one) (?:should|really|only|must|want)\b
                the (?:idea|notion|claim|belief) (?:that|of)
                (?:or is (?:it|that)|or are we|or just|or do we|or merely|or only)\b.{0,60}\?
                owe|deserve|obligat|sacrific|autonomy|dignity|injustice|mortality|\bsoul|illusion|paradox|virtue
                difference between (?:love|being|loneliness|solitude|needing|loving|kindness|knowing|wisdom)
                difference between (?:happiness|pride|guilt)
                (?:if|when) (?:we|everyone|nobody|no one)\b.{0,80}(?:then|does|is it|are we|would|still|do we|what)
                (?:if|when) (?:a person|someone|all)\b.{0,80}(?:then|does|is it|are we|would|still|do we|what)
                should (?:we|people|society|one|parents|children|a person|anyone)\b
                \bwe (?:all|only|really|still|just|praise|pretend|call|need|fear) 
            """,
            1: rf"\b(?:{_IDEA})\b|\b(?:really|truly|ever)\b.{{0,40}}\?|\bwhether\b",
        },
        Intent.PRACTICAL: {
            3: rf"""
                how (?:do|can|should|would|could) (?:i|you|we|one)\b(?! (?:feel|still))
                how to\b
                (?:can|could|would|will) you (?:please |also |quickly )?(?:help|write|make|translate|check|fix|draft)
                (?:can|could|would|will) you (?:please |also |quickly )?(?:summari|find|set|give)
                (?:can|could|would|will) you (?:please |also |quickly )?(?:recommend|explain|list|convert|turn|show)
                (?:can|could|would|will) you (?:please |also |quickly )?(?:plan|suggest|compare)
                (?:can|could|would|will) you (?:please |also |quickly )?(?:calculate|proofread|rewrite|look|book|add)
                (?:can|could|would|will) you (?:please |also |quickly )?(?:put|sort|shorten|edit)
                ^(?:please |pls )?(?:help me|write|draft|translate|summari[sz]e|fix|plan|list|convert|calculate)\b
                ^(?:please |pls )?(?:explain|make|create)\b
                ^(?:please |pls )?(?:give me|show me|find|suggest|recommend|compare|set|add|proofread|rewrite|turn)\b
                ^(?:please |pls )?(?:shorten|sort|check|book)\b
                remind me (?:to|about|at|on|in|tomorrow)
                \bhelp me (?:\w+ )?(?:with|write|plan|find|choose|pick|fix|decide|set|make|figure|prepare|understand)
                \bhelp me (?:\w+ )?(?:sort|organi)
                where (?:can|do|should|could) (?:i|we|you)\b
                how (?:much|many|long|far|often|high|hot|big|old) (?:is|are|does|do|should|to|time|water|money|it)\b
                how (?:much|many|long|far|often|high|hot|big|old) (?:will|can|of|people|days)\b
                what(?:'s| is| are) (?:the|a) (?:best|capital|fastest|cheapest|easiest|right|proper|difference)
                what(?:'s| is| are) (?:the|a) (?:weather|population|formula)
                what(?:'s| is| are) (?:the|a) (?:time|price|cost|average|safest|simplest|currency|syntax|recipe)
                what(?:'s| is| are) (?:the|a) (?:deadline)
                what (?:should|do|can) i (?:wear|pack|cook|buy|bring|do|use|eat|need|say|write|put|get|take|order|give)
                should i (?:buy|take|use|choose|wear|book|get|pick|go with|switch|upgrade|invest|see a|call|order)
                should i (?:rent|install)
                need (?:a|an|to|some|help|ideas|you to) (?:\w+ )?(?:book|buy|finish|write|send|plan|list|recipe|find)
                need (?:a|an|to|some|help|ideas|you to) (?:\w+ )?(?:get|make|for|with|pay|call)
                \b(?:what|which|who|when|where|does|is|are|do|my|won't)\b.{{0,60}}\b(?:{_THING})\b
            """,
            2: r"""
                (?:is|are) (?:it|there|this|these) (?:safe|ok|okay|legal|any|a way|open|cheaper|healthy|normal)\b
                \b(?:step by step|steps|checklist|itinerary|budget|schedule|timetable|template|tutorial)\b
                \b(?:instructions?|recipe|workout)\b
                \b(?:meal plan|to-?do|bullet points|outline|cover letter|e-?mail|resume|cv|error|bug)\b
                \b(?:crash(?:es|ed)?|install|config|code)\b
                \b(?:script|formula|deadline|invoice)\b
                \b(?:any|some) (?:tips|advice|ideas|suggestions|recommendations)\b
                \bwhat (?:time|temperature|size|kind of|type of|brand|day)\b
                \b(?:who|what) (?:wrote|invented|painted|discovered|causes|happens if)\b
                \bwhen (?:does|do|is|are|will|was|were) (?:the|a|they|this|next)\b
                \bwhich (?:one )?(?:is|would be|of these|should)\b
                \bwhy (?:is|does|are|won't|isn't|doesn't|do) (?:my|the|this|a|it)\b
                ^(?:difference between|need (?:a|an|some|ideas|help|to)|looking for|ideas for|tips for|best way)\b
                ^(?:directions)\b
                \b(?:will|is) it (?:going to )?(?:rain|snow|be (?:hot|cold|sunny|warm|open))
            """,
            1: r"""
                \bplease\b|\bneed to\b|\bwhat(?:'s| is) (?:the|a|an)\b|\bhow\b
                \b\d+ ?(?:minutes?|hours?|days?|kg|km|g|ml|euros|people|words|%)
            """,
        },
    }
)

SHAPE: Final = Shape(
    question=re.compile(
        r"\?|^(?:what|who|where|when|which|why|how|is|are|do|does|did|can|could|should|would|will|have|has)\b"
    ),
    addressed=re.compile(r"^(?!can|could|would|will|do you know|any idea).*\byou(?:r|'re)?\b"),
    oneself=re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|me|mine|we|our|us)\b"),
    past=re.compile(
        r"\b(?:did|was|were|had|been|told|said|went|made|saw|bought|met|came|got|wrote|last|ago|used to|\w{3,}ed)\b"
    ),
    abstract=re.compile(rf"\b(?:{_IDEA})\b"),
    inner=re.compile(
        r"\b(?:myself|feel|feels|feelings?|felt|heart|lonely|alone|afraid|scared|ashamed|sad|hurts?|guilty|anxious|numb"
        r"|empty|grief|cry|cried|crying|tears|regret|forgive|hat(?:e|ing)|overwhelmed|worthless|fears?|therapy|panic)\b"
    ),
    everyday=re.compile(
        r"\b(?:lunch|dinner|breakfast|brunch|coffee|tea|pizza|noodles|ramen|cake|cookies?|snacks?|weekend|nap|weather"
        r"|movie|episode|game|bus|train|traffic|couch|blanket|cat|dog|puppy|kitten|squirrel|pigeon|sun|sunset|rain|snow"
        r"|socks|shoes|haircut|sandwich|soup|bread|ice cream|chocolate|neighbou?rs?|office|playlist|song|meme|umbrella"
        r"|pyjamas|pajamas|doughnuts?)\b"
    ),
)
