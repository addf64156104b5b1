"""Recognise credentials of providers by shape, and values that are not secrets.

A row is (kind, triggers, pattern). The pattern is tried when the text holds one of the triggers, in
lower case; no letter or digit precedes a match (an escape may). A group `secret` narrows what is
masked. Lengths are a little below the real ones: the prefixes are distinctive, and a token that was
cut short is still worth hiding. Patterns must take time linear in the text: bounded repeats, or one
run at the end.

A value where a secret is expected may be a name, a type, a path or a placeholder; tables list
those. Randomness is not measured: short passwords are not random, and digests are.
"""

import re
from collections.abc import Callable
from typing import Final

from yaadwatch.text.words import word_set

# fmt: off
TOKENS: Final = (
    # Clouds
    ("aws-key", "akia asia abia acca", r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("aws-key", "absk bedrock-api-key-", r"(?:ABSK|bedrock-api-key-)[A-Za-z0-9+/]{60,}={0,2}"),
    ("aws-key", "amzn.mws.", r"amzn\.mws\.[0-9a-f-]{36}"),
    ("google-key", "aiza", r"AIza[\w-]{30,}"),
    ("google-key", "aq.", r"AQ\.[\w-]{40,}"),
    ("google-oauth", "ya29. gocspx-", r"(?:ya29\.|GOCSPX-)[\w-]{20,}"),
    ("google-oauth", "1//0", r"1//0[\w-]{30,}"),
    ("azure-key", "accountkey= sharedaccesskey=",
     r"(?:Account|SharedAccess)Key=(?P<secret>[A-Za-z0-9+/]{30,}={0,2})"),
    ("azure-key", "sig=", r"sig=(?P<secret>[A-Za-z0-9%+/_-]{40,}={0,2})"),
    ("azure-key", "q~", r"[\w~.]{3}\dQ~[\w~.-]{31,34}"),
    ("azure-key", "azdo", r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"),
    ("digitalocean-token", "_v1_", r"do[opr]_v1_[a-f0-9]{40,}"),
    ("alibaba-key", "ltai", r"LTAI[A-Za-z0-9]{12,26}(?![A-Za-z0-9])"),
    ("tencent-key", "akid", r"AKID[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    ("yandex-key", "aqvn", r"AQVN[\w-]{35,}"),
    ("heroku-key", "hrku-", r"HRKU-[\w-]{30,}"),
    ("cloudflare-token", "cfut_ cfat_ cfk_", r"cf(?:ut|at|k)_[\w-]{36,}"),
    ("cloudflare-token", "v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}"),
    ("fly-token", "fo1_ fm1", r"(?:fo1_[\w-]{30,}|fm1[ar]?_[A-Za-z0-9+/]{60,}={0,2})"),
    ("fly-token", "fm2_", r"fm2_[A-Za-z0-9+/]{60,}={0,2}"),
    ("vercel-token", "vcp_ vci_ vca_ vcr_ vck_", r"vc[piark]_[A-Za-z0-9]{24,}"),
    ("netlify-token", "nfp_ nfc_ nfo_ nfu_ nfb_", r"nf[pcoub]_[A-Za-z0-9]{36,}"),
    ("supabase-key", "sbp_ sb_secret_", r"(?:sbp_[a-f0-9]{40,}|sb_secret_[\w-]{20,})"),
    ("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[\w.-]{30,}"),
    ("neon-key", "napi_", r"napi_[a-z0-9]{40,}"),
    ("render-key", "rnd_", r"rnd_[A-Za-z0-9]{28,}"),
    ("aiven-key", "avns_", r"AVNS_[\w-]{15,}"),
    ("databricks-token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?(?![A-Za-z0-9])"),
    # Code hosts, registries, builds
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{20,}"),
    ("github-token", "github_pat_", r"github_pat_\w{30,}"),
    ("gitlab-token", "gl",
     r"gl(?:pat|dt|rtr?|cbt|ptt|ft|imt|agent|soat|ffct|oas|wt)-[\w-]{18,}(?:\.[\w.]{2,24})?"),
    ("gitlab-token", "gr1348941", r"GR1348941[\w-]{20,}"),
    ("atlassian-token", "atatt3 atctt3 atbb", r"(?:AT[AC]TT3[\w=-]{60,}|ATBB[A-Za-z0-9]{24,})"),
    ("npm-token", "npm_", r"npm_[A-Za-z0-9]{30,}"),
    ("pypi-token", "pypi-", r"pypi-(?:AgE[\w-]{30,}|[\w-]{70,})"),
    ("rubygems-key", "rubygems_", r"rubygems_[a-f0-9]{40,}"),
    ("crates-token", "cio", r"cio[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    ("nuget-key", "oy2", r"oy2[a-z0-9]{43}(?![A-Za-z0-9])"),
    ("docker-token", "dckr_", r"dckr_[po]at_[\w-]{20,}"),
    ("clojars-token", "clojars_", r"CLOJARS_[a-z0-9]{50,}"),
    ("jfrog-key", "akcp cmvmdgtu", r"(?:AKCp|cmVmdGtu)[A-Za-z0-9]{50,}"),
    ("circleci-token", "ccipat_ cciprj_", r"CCIP(?:AT|RJ)_[A-Za-z0-9]{16,}_[a-f0-9]{30,}"),
    ("buildkite-token", "bkua_ bkaa_", r"bk[ua]a_[a-f0-9]{30,}"),
    ("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}"),
    ("pulumi-token", "pul-", r"pul-[a-f0-9]{40}"),
    ("sonar-token", "sqp_ squ_ sqa_", r"sq[pua]_[a-f0-9]{40}"),
    ("sentry-token", "sntrys_ sntryu_", r"sntry[su]_[\w+/=-]{40,}"),
    ("grafana-token", "glsa_", r"glsa_[A-Za-z0-9]{24,40}_[a-f0-9]{8}"),
    ("grafana-token", "glc_", r"glc_[A-Za-z0-9+/]{32,}={0,2}"),
    ("newrelic-key", "nrak- nrii- nrjs- nrra-", r"NR(?:AK|II|JS|RA)-[\w-]{19,}"),
    ("dynatrace-token", "dt0", r"dt0[cs]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{60,}"),
    ("launchdarkly-key", "sdk- api-", r"(?:sdk|api)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    # Keepers of secrets
    ("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{20,}"),
    ("doppler-token", "dp.", r"dp\.(?:pt|st|sa|ct|scim|audit)\.[\w.-]{30,}"),
    ("1password-key", "ops_eyj", r"ops_eyJ[\w-]{60,}"),
    ("1password-key", "a3-",
     r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    ("age-key", "age-secret-key-1", r"AGE-SECRET-KEY-1[A-Z0-9]{40,}"),
    ("tailscale-key", "tskey-", r"tskey-[a-z]{2,12}-[\w-]{16,}"),
    ("openshift-token", "sha256~", r"sha256~[\w-]{40,}"),
    # A private key in base64 (`client-key-data`): the first line names its kind.
    ("private-key", "ls0tls1crudjti",
     r"LS0tLS1CRUdJTiB(?:QUklWQVRF|SU0EgUFJJ|FQyBQUklW|PUEVOU1NI|FTkNSWVBU)[A-Za-z0-9+/]{20,}={0,2}"),
    # What passwords are compared with: a short one can be found from it.
    ("password-hash", "$2a$ $2b$ $2x$ $2y$", r"\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}"),
    ("password-hash", "$1$ $5$ $6$ $y$ $apr1$",
     r"\$(?:[156y]|apr1)\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9]{1,32}\$[./A-Za-z0-9]{22,}"),
    ("password-hash", "{sha} {ssha} {ssha256} {ssha512} {md5} {smd5}",
     r"\{S?(?:SHA(?:256|512)?|MD5)\}(?P<secret>[A-Za-z0-9+/]{22,}={0,2})"),
    ("password-hash", "pbkdf2",
     r"pbkdf2[_:]sha\d{1,3}[:$]\d{3,8}\$[\w./+=-]{4,64}\$[A-Za-z0-9+/=]{32,}"),
    ("password-hash", "scrypt:", r"scrypt:\d{1,8}:\d{1,2}:\d{1,2}\$[\w./+=-]{4,64}\$[a-f0-9]{32,}"),
    ("password-hash", "$y$ $gy$ $7$",
     r"\$g?[y7]\$[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{1,86}\$[./A-Za-z0-9]{43}"),
    ("password-hash", ":::", r"[a-f0-9]{32}:[a-f0-9]{32}(?=:::)"),
    ("password-hash", "$argon2",
     r"\$argon2(?:id?|d)\$(?:v=\d{1,3}\$)?[\w=,]{5,40}(?:\$[A-Za-z0-9+/]{8,}){2}"),
    # Models
    ("anthropic-key", "sk-ant-", r"sk-ant-[\w-]{20,}"),
    ("openrouter-key", "sk-or-", r"sk-or-(?:v1-)?[a-f0-9]{40,}"),
    ("langfuse-key", "sk-lf-", r"sk-lf-[a-f0-9-]{36}"),
    ("openai-key", "sk-", r"sk-(?:(?:proj|svcacct|admin|None)-[\w-]{20,}|[A-Za-z0-9]{20,})"),
    ("huggingface-token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    ("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{30,}"),
    ("replicate-token", "r8_", r"r8_[A-Za-z0-9]{30,}"),
    ("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{30,}"),
    ("xai-key", "xai-", r"xai-[A-Za-z0-9]{40,}"),
    ("fireworks-key", "fw_", r"fw_[A-Za-z0-9]{22,}"),
    ("langsmith-key", "lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    ("nvidia-key", "nvapi-", r"nvapi-[\w-]{40,}"),
    ("tavily-key", "tvly-", r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{20,}"),
    ("pinecone-key", "pcsk_", r"pcsk_\w{40,}"),
    ("elevenlabs-key", "sk_", r"sk_[a-f0-9]{48}(?![A-Za-z0-9])"),
    # Messages and mail
    ("slack-token", "xox xapp-", r"(?:xox[abeoprs]|xoxe\.xox[bp]|xapp)-[A-Za-z0-9-]{10,}"),
    ("slack-hook", "hooks.slack.com",
     r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[\w/]{16,})"),
    ("discord-hook", "/api/webhooks/", r"api/webhooks/(?P<secret>\d{10,20}/[\w-]{20,})"),
    ("discord-token", ".", r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}"),
    ("teams-hook", "webhook.office.com", r"office\.com/webhookb2/(?P<secret>[\w@/-]{40,})"),
    ("telegram-token", ":",
     r"(?<!:)\d{6,12}:(?=[\w-]{0,34}[A-Z])(?=[\w-]{0,34}\d)[\w-]{35}(?![\w-])"),
    ("twilio-key", "sk", r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("sendgrid-key", "sg.", r"SG\.[\w-]{16,64}\.[\w-]{16,}"),
    ("mailgun-key", "key-", r"key-[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("mailgun-key", "-", r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![A-Za-z0-9-])"),
    ("mailchimp-key", "-us", r"[0-9a-f]{32}-us\d{1,2}(?![A-Za-z0-9])"),
    ("brevo-key", "xkeysib- xsmtpsib-", r"x(?:key|smtp)sib-[\w-]{40,}"),
    ("resend-key", "re_", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"),
    # Work
    ("linear-key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}"),
    ("notion-token", "ntn_", r"ntn_[A-Za-z0-9]{40,}"),
    ("notion-token", "secret_", r"secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])"),
    ("figma-token", "figd_", r"figd_[\w-]{30,}"),
    ("airtable-token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ("asana-token", "/", r"[0-2]/\d{10,20}(?:/\d{10,20})?:[a-f0-9]{32}"),
    ("postman-key", "pmak-", r"PMAK-[\w-]{40,}"),
    ("contentful-token", "cfpat-", r"CFPAT-[\w-]{40,}"),
    ("typeform-token", "tfp_", r"tfp_[\w-]{40,}"),
    ("dropbox-token", "sl.", r"sl\.(?:u\.)?[\w-]{60,}"),
    ("sourcegraph-token", "sgp_", r"sgp_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40}"),
    ("posthog-key", "phx_", r"phx_[A-Za-z0-9]{30,}"),
    ("mapbox-token", "sk.eyj", r"sk\.eyJ[\w.-]{30,}"),
    ("adafruit-key", "aio_", r"aio_[A-Za-z0-9]{28}"),
    ("prefect-key", "pnu_ pnb_", r"pn[ub]_[A-Za-z0-9]{30,}"),
    # Money
    ("wallet-key", "xprv yprv zprv tprv", r"[xyzt]prv[1-9A-HJ-NP-Za-km-z]{90,}"),
    ("nostr-key", "nsec1", r"nsec1[a-z0-9]{50,}"),
    ("stripe-key", "_live_ _test_", r"[sr]k_(?:live|test)_[A-Za-z0-9]{10,}"),
    ("stripe-key", "whsec_", r"whsec_[A-Za-z0-9+/]{24,}={0,2}"),
    ("square-token", "sq0", r"sq0(?:atp|csp)-[\w-]{22,}"),
    ("square-token", "eaa", r"(?<![+/=])EAA[A-Za-z0-9_-]{60,}"),
    ("braintree-token", "access_token$",
     r"access_token\$(?:production|sandbox)\$\w{16}\$[a-f0-9]{32}"),
    ("plaid-token", "access-", r"access-(?:sandbox|development|production)-[0-9a-f-]{36}"),
    ("shopify-token", "shp", r"shp(?:at|ca|pa|ss|ua|tka)_[a-fA-F0-9]{32}"),
    ("easypost-key", "ezak ezt", r"EZ[AT]K[A-Za-z0-9]{54}"),
    ("shippo-token", "shippo_", r"shippo_(?:live|test)_[a-f0-9]{40}"),
)
# fmt: on

# fmt: off
SHORTEST: Final = {
    "-": 50, ".": 59, "/": 45, ":": 42, "gl": 23, "q~": 37, "sk": 34, "-us": 36, "a3-": 39,
    "cio": 35, "dp.": 36, "dt0": 92, "eaa": 63, "ezt": 58, "fm1": 34, "fw_": 25, "hf_": 33,
    "oy2": 46, "pat": 82, "r8_": 33, "re_": 32, "sg.": 36, "shp": 38, "sk-": 23, "sk_": 51,
    "sl.": 63, "sq0": 29, "aio_": 32, "akid": 36, "api-": 40, "aqvn": 39, "azdo": 84,
    "dapi": 36, "key-": 36, "lin_": 38, "npm_": 34, "pul-": 44, "rnd_": 32, "sdk-": 40,
    "sig=": 44, "xai-": 44, "access-": 51, "secret_": 50,
}
# fmt: on
"""What a token of these triggers has at least, in characters: texts that hold the trigger alone are
many, and so long a run of characters without white space is in few of them."""

SecretKind = tuple[str, int, int]
"""Kind, start and end of a secret."""

Check = Callable[[re.Match[str]], SecretKind | None]

KEYWORD: Final = re.compile(
    r"pass(?:word|phrase|code|wd)?|pwd|secret|token|credential|key|login|auth", re.IGNORECASE
)
DIGIT: Final = re.compile(r"\d")

_LETTER = re.compile(r"[^\W\d_]")
_SEPARATORS = re.compile(r"[-_./:@]+")
_NO_WORD = re.compile(r"[^\w./:@ -]")
_MARK = re.compile(r"[!#$%^&*+~?@]")
_INNER_MARK = re.compile(r"(?<=\w)[!#$%^&*+~?@]+\w")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|\d{16,}")
_BASE64 = re.compile(r"(?=[A-Za-z0-9+/]{6,}={1,2}\Z)(?=.*[a-z])(?=.*[A-Z]).*")
_NUMBERS = re.compile(r"\d{4,}|(?=.{6})[\d\W]*[!#$%^&*+~?@][\d\W]*")

_FILLER = re.compile(
    r"[x*.•]{8,}|(?:\A|[-_.\s])(?:your|example|sample|dummy|fake|placeholder|redacted|changeme"
    r"|replace|insert)(?:\Z|[-_.\s])",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"[x*.•?_-]{3,}|…|none|null|nil|true|false|undefined|str(?:ing)?|bytes|boolean|test|testing"
    r"|change[-_ ]?(?:me|this)|change[-_ ]it"
    r"|(?:my|the|test|some|new|old|current)?[-_ ]?(?:pass(?:word|wd|phrase|code)?|pwd|secret|token"
    r"|key)\d?",
    re.IGNORECASE,
)

# Variables, templates, calls, members, types, names of environment variables, addresses of secrets.
_REFERENCE = re.compile(
    r"""\$(?:\w+\Z|[({]) | [<{(] | \[(?!masked:) | [&*:@]\w+\Z | %\w+%\Z | %\(?\w*\)?[sdr]\Z
    | !(?:Ref|Sub|vault|env)\b | @?[A-Za-z_][\w.:]*[(\[] | \w+(?:::|->)\w+
    | (?:process|os|self|this|cls|env|import|secrets?|config|settings|vars?|req|args|opts|options)
      \??[.\[]
    | [A-Za-z_]+(?:\??\.[A-Za-z_]+)+\d?\Z | [A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\Z
    | [A-Za-z_][\w.]*(?:Key|Token|Secret|Credential|Password|Auth)[A-Za-z]{0,40}\Z
    | \#[0-9a-fA-F]{3,8}\Z
    | (?:arn|op|vault|ref|env|file|ssm|kms|keyring|sha\d{1,3}|md5):""",
    re.VERBOSE,
)
_FILE = re.compile(
    r"[\w./~-]+\."
    r"(?:pem|key|crt|json|ya?ml|toml|ini|txt|env|py|pyi|tsx?|jsx?|go|rs|rb|java|kt|sh|md)\Z"
)

# Parts of names that hold digits: versions, numbers with a unit, algorithms, names like s3 and k8s.
_TECHNICAL = re.compile(
    r"v?\d{1,4}[a-z]?|[a-z]\d{1,2}[a-z]?"
    r"|\d+(?:ms|min|hr|days?|kb|mb|gb|tb|px|r?em|v[hw]|[cm]m|pt|dpi|fps|k?hz|bits?|bytes?|chars?|x"
    r"|st|nd|rd|th)|(?:\d{0,2}x|x\d{1,2})?(?:small|medium|large)"
    r"|(?:sha|md|rsa|aes|secp|ed|curve|utf|base|o?auth|http|ipv|argon|pbkdf|bcrypt|blake|crc|des|ec"
    r"|es|rs|hs|ps|web|win|arm|amd|aws|py|python|node|int|uint|float|tls|ssl|mp|iso|rfc|json|xml|wpa)"
    r"\d{1,5}(?:url|id|ctr|gcm|cbc|pss|k1|r1|[a-z])?",
    re.IGNORECASE,
)

_VERSIONED = re.compile(r"[A-Za-z]{2,20}\d{1,3}(?:\.\d{1,3}){1,2}")

# Words that describe a password, or replace it in a schema.
_STATES = word_set(
    """
    required optional mandatory present missing available nullable enabled disabled hidden protected
    encrypted hashed salted incorrect invalid expired confirmed changed unchanged forgotten
    generated automatic anonymous username bearer refresh access authentication authorization
    environment development production postgres postgresql
    """
)
# The most common passwords, which mean nothing else.
_COMMON = word_set(
    """
    letmein qwerty qwertyuiop qwertz asdfgh asdfghjkl zxcvbnm iloveyou opensesame swordfish changeit
    """
)
_LABEL_END = re.compile(
    r"(?:field|type|str|string|input|schema|encoder|manager|provider|service)\Z"
)
_GRAMMAR = re.compile(
    r"\b(?:the|an?|to|is|are|must|should|never|not|for|with|and|or|your|this|from|has|have|will|can"
    r"|if|in|of|on|at|be|by|it|please|enter|least)\b"
)


def is_secret(value: str, *, strong: bool) -> bool:
    """Decide whether a value where a secret is expected is one.

    `strong`: the place hardly ever holds anything else (a password, an exported variable).
    """
    if len(value) < (4 if strong else 6) or " " in value:
        return False
    # What it could be instead is asked last: most values have nothing of a secret to begin with.
    return _looks_secret(value, strong=strong) and not (
        is_placeholder(value) or is_reference(value) or _EMAIL.fullmatch(value)
    )


def _looks_secret(value: str, *, strong: bool) -> bool:
    if _UUID.fullmatch(value):
        return True
    if not _LETTER.search(value):
        return strong and bool(_NUMBERS.fullmatch(value))
    if strong and _BASE64.fullmatch(value) and not len(value) % 4:
        return True
    if not DIGIT.search(value):
        marked = strong and len(value) >= 6 and _MARK.search(value)
        return bool(marked and _INNER_MARK.search(value))
    if is_name(value):
        return strong and _ends_like_a_password(value)
    return strong or _is_random(value)


def is_lone_password(value: str, *, chars_min: int) -> bool:
    """Decide whether letters alone are a password (`letmeinnow`), or words that speak of one."""
    if len(value) < chars_min or _NO_WORD.search(value):
        return False
    spaced = " " in value
    words = value.split(" ") if spaced else _SEPARATORS.split(value)
    if not all(map(str.isalpha, words)) or is_placeholder(value):
        return False
    if spaced:
        return 4 <= len(words) <= 24 and value.islower() and not _GRAMMAR.search(value)
    if len(words) > 1:
        return len(words) >= 4 and not KEYWORD.search(value)
    lowered = value.lower()
    if lowered in _STATES or _LABEL_END.search(lowered):
        return False
    return value.islower() or value.isupper() or not KEYWORD.search(value)


def is_drawn(value: str) -> bool:
    """Return whether a long word is drawn by lot: both cases, and digits in at least three places.

    `getUserByIdV2FromService1` has two.
    """
    return (
        len(value) >= 24
        and sum(map(str.isupper, value)) >= 3
        and sum(map(str.islower, value)) >= 3
        and len(re.findall(r"[0-9]+", value)) >= 3
        and not is_name(value)
    )


def is_common(value: str) -> bool:
    """Return whether a word is a common password."""
    return value.lower() in _COMMON


def is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder: `changeme`, `****`, `your-key`."""
    return bool(_PLACEHOLDER.fullmatch(value)) or is_filler(value)


def is_filler(value: str) -> bool:
    """Return whether part of `value` marks a placeholder: `sk-xxxxxxxx`, `ghp_your_token`."""
    return bool(_FILLER.search(value))


def is_reference(value: str) -> bool:
    """Return whether a value is a reference: `$TOKEN`, `os.environ[...]`, `TOKEN_V2`."""
    return bool(_REFERENCE.match(value) or _FILE.match(value) or _is_path(value))


def is_name(value: str) -> bool:
    """Tell `base64-encoded` or `db-credentials-v1` from a secret: words, numbers with a sense."""
    if _VERSIONED.fullmatch(value):
        return True
    parts = filter(None, _SEPARATORS.split(value))
    return all(part.isalpha() or bool(_TECHNICAL.fullmatch(part)) for part in parts)


def trimmed(value: str) -> str:
    """Return `value` without the punctuation and brackets of its sentence."""
    while value:
        last = value[-1]
        opener = {")": "(", "]": "[", "}": "{", ">": "<"}.get(last, "")
        if last in ".,;:" or (opener and value.count(opener) < value.count(last)):
            value = value[:-1]
        elif value.endswith("**"):
            value = value[:-2]
        else:
            break
    return value


def _is_path(value: str) -> bool:
    """Distinguish `/run/secrets/db2` from a secret in base64 with slashes."""
    if "/" not in value or "+" in value or "=" in value:
        return False
    parts = [part for part in value.removeprefix("~").split("/") if part]
    return bool(parts) and all(part.islower() or is_name(part) for part in parts)


def _ends_like_a_password(value: str) -> bool:
    """Distinguish `blue-horse-42` from `base64-encoded` and `32-bytes`."""
    words = _SEPARATORS.split(value)
    return len(value) >= 8 and len(words) > 1 and words[0].isalpha() and words[-1].isdecimal()


def _is_random(value: str) -> bool:
    """Return whether a value was generated, and is not a variable with a number at its end."""
    if re.fullmatch(r"[A-Za-z_]+\d{1,2}", value) and KEYWORD.search(value):
        return False
    many_digits = len(DIGIT.findall(value)) >= 2
    return many_digits or len(value) >= 20 or bool(_INNER_MARK.search(value))
