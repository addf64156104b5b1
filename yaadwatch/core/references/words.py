"""Which words of a text may stand for one thing in the code, and which stand everywhere?"""

import re

CHARS_MIN = 4
PLAIN_CHARS_MIN = 5
"""A word of small letters only needs so many: a short one means too many things."""
_PLAIN = re.compile(r"[a-z]+|[A-Z]?[a-z]+|[A-Z]+")
_EVERYWHERE = frozenset(
    re.findall(
        r"\S+",
        """
    about access action actions added after allow always append apply array assert async
    await badge based before begin being below between block board boolean bottom branch
    break bugfix build builds bundle button bytes cache cached call called calls cargo catch
    change changes changed check checks child chore class clean clear click client clone
    close code color column command commands comment commit common compile config configs
    const content context continue copy count create created current custom daemon data
    database debug default defaults define delete deploy describe details develop device dict
    diff directory disable display docker document docs does done down each edit empty enable
    enabled entry enum environment error errors event events every example examples except
    exec execute exist exit expect export extend extra fail failed false feature fetch field
    fields file files filter final find first fixture flag flags float folder follow force
    form format found from full function functions generate github given global group guide
    handle handler hash have head header headers hello help helper here hidden home host
    hotfix http https icon image import imports index info init input insert inside install
    instance int integer interface into issue item items iter join json just keep kind label
    language last later layer layout length level library like limit line lines link lint
    list load local lock logger logging login logs loop main make makefile manager many mark
    markdown match maybe merge message messages meta method methods minor mock mode model
    models module modules more most move much must name names need never next node none note
    notes null number object objects once only open option optional options order origin
    other output package packages page param params parent parse parser part pass password
    patch path paths pattern pending ping pipe platform please plugin plugins point port
    post prefix print private process program project projects prompt proper property public
    pull push python query queue quick raise range rather read ready reason record refactor
    reference refresh release releases remote remove render replace report repo repository
    request require required reset response rest result results return returns revert review
    right role root route router rule rules runner running runs rust safe same save schema
    scope script scripts search second section secret select self send separate server
    service services session set settings setup shell should show simple single size skip
    some source space spec split stage standard start state static status step steps stop
    storage store string struct style submit subset success suite super support sure sync
    syntax system table tables target task tasks team template templates term test tested
    testing tests text than that their them then there these they thing this those through
    time timeout title todo token tokens tool tools track tree trigger true type types typing
    unit unless until update updated updates upload usage user users using utils valid
    validate value values variable variables vendor verbose verify version versions view wait
    want warning watch what when where which while will window with within without word work
    worker workflow workspace write written yaml your zero
    """,
    )
)
"""Plain words of programs everywhere; one of them by itself names nothing."""


def is_telling(word: str) -> bool:
    """Return whether `word` may stand for one thing; a plain word only when it is not common."""
    bare = word.lstrip("-$")
    if len(bare) < CHARS_MIN:
        return False
    if word[0] == "-" or not _PLAIN.fullmatch(bare):
        return True
    return len(bare) >= PLAIN_CHARS_MIN and bare.lower() not in _EVERYWHERE
