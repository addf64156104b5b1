"""A corpus of secrets and of look-alikes.

Every secret here is fake and is put together at run time, so that scanners of the repository, which
look for the same shapes, stay quiet.
"""

import string

import pytest

from yaadwatch.core.privacy import mask, mask_tree

LETTERS = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"
WORD = LETTERS + "_-"


def body(length: int, alphabet: str = LETTERS) -> str:
    """Return `length` characters that look random and are the same in every run."""
    state, chars = 20_231, []
    for _ in range(length):
        state = (state * 1_103_515_245 + 12_345) % 2**31
        chars.append(alphabet[(state >> 12) % len(alphabet)])
    return "".join(chars)


def glue(*parts: str) -> str:
    return "".join(parts)


UUID = "-".join((body(8, HEX), body(4, HEX), body(4, HEX), body(4, HEX), body(12, HEX)))
WEB_TOKEN = ".".join((glue("ey", "J", body(30)), glue("ey", "J", body(60)), body(43, WORD)))
HORSE = glue("Tr0ub", "4dor", "&3")
HUNTER = glue("hun", "ter2")

TOKENS = {
    "aws access key": glue("AK", "IA", body(16, UPPER)),
    "aws session key": glue("AS", "IA", body(16, UPPER)),
    "aws bedrock key": glue("AB", "SK", body(120)),
    "google api key": glue("AI", "za", body(35, WORD)),
    "google oauth token": glue("ya", "29.", body(60, WORD)),
    "google client secret": glue("GOC", "SPX-", body(28, WORD)),
    "google refresh token": glue("1/", "/0", body(60, WORD)),
    "azure storage key": glue("Account", "Key=", body(86), "=="),
    "azure application secret": glue("abc", "8", "Q~", body(34, WORD)),
    "azure devops token": glue(body(76), "AZ", "DO", body(4)),
    "digitalocean": glue("do", "p_v1_", body(64, HEX)),
    "alibaba": glue("LT", "AI", body(20)),
    "heroku": glue("HR", "KU-", body(60, WORD)),
    "cloudflare": glue("cf", "ut_", body(48)),
    "cloudflare origin": glue("v1", ".0-", body(24, HEX), "-", body(146, HEX)),
    "fly": glue("fo", "1_", body(43, WORD)),
    "vercel": glue("vc", "p_", body(56)),
    "netlify": glue("nf", "p_", body(36)),
    "supabase": glue("sb", "p_", body(40, HEX)),
    "planetscale": glue("pscale", "_pw_", body(43, WORD)),
    "databricks": glue("da", "pi", body(32, HEX)),
    "github classic": glue("gh", "p_", body(36)),
    "github app": glue("gh", "s_", body(36)),
    "github fine-grained": glue("github", "_pat_", body(22), "_", body(59)),
    "gitlab": glue("gl", "pat-", body(20, WORD)),
    "atlassian": glue("AT", "ATT3", body(180, WORD)),
    "npm": glue("np", "m_", body(36)),
    "pypi": glue("py", "pi-AgE", body(150, WORD)),
    "rubygems": glue("ruby", "gems_", body(48, HEX)),
    "crates.io": glue("ci", "o", body(32)),
    "nuget": glue("oy", "2", body(43, LOWER)),
    "docker hub": glue("dckr", "_pat_", body(27, WORD)),
    "circleci": glue("CCI", "PAT_", body(22), "_", body(40, HEX)),
    "terraform cloud": glue(body(14), ".atlas", "v1.", body(67, WORD)),
    "pulumi": glue("pu", "l-", body(40, HEX)),
    "sonar": glue("sq", "p_", body(40, HEX)),
    "sentry": glue("sntr", "ys_", body(80)),
    "grafana": glue("gl", "sa_", body(32), "_", body(8, HEX)),
    "new relic": glue("NR", "AK-", body(27, UPPER)),
    "dynatrace": glue("dt0", "c01.", body(24, UPPER), ".", body(64, UPPER)),
    "launchdarkly": glue("sd", "k-", UUID),
    "vault": glue("hv", "s.", body(90, WORD)),
    "doppler": glue("dp", ".pt.", body(43)),
    "1password": glue("op", "s_ey", "J", body(200, WORD)),
    "age": glue("AGE-SECRET", "-KEY-1", body(58, UPPER)),
    "tailscale": glue("ts", "key-auth-", body(12), "-", body(32)),
    "anthropic": glue("sk", "-ant-api03-", body(95, WORD)),
    "openai": glue("sk", "-", body(48)),
    "openai project": glue("sk", "-proj-", body(120, WORD)),
    "openai service account": glue("sk", "-svcacct-", body(120, WORD)),
    "openrouter": glue("sk", "-or-v1-", body(64, HEX)),
    "hugging face": glue("h", "f_", body(34)),
    "groq": glue("gs", "k_", body(52)),
    "replicate": glue("r", "8_", body(37)),
    "perplexity": glue("pp", "lx-", body(48)),
    "xai": glue("xa", "i-", body(80)),
    "langsmith": glue("ls", "v2_pt_", body(32, HEX), "_", body(10, HEX)),
    "nvidia": glue("nv", "api-", body(64, WORD)),
    "slack bot": glue("xo", "xb-", body(12, "0123456789"), "-", body(24)),
    "slack app": glue(
        "xa", "pp-1-", body(11, UPPER), "-", body(13, "123456789"), "-", body(64, HEX)
    ),
    "slack hook": glue(
        "hooks.slack", ".com/services/T", body(8, UPPER), "/B", body(8, UPPER), "/", body(24)
    ),
    "discord bot": glue("M", body(23, WORD), ".", body(6, WORD), ".", body(38, WORD)),
    "discord hook": glue(
        "discord.com/api/", "webhooks/", body(18, "123456789"), "/", body(68, WORD)
    ),
    "telegram": glue(body(10, "123456789"), ":", "AA", body(33, WORD)),
    "twilio": glue("S", "K", body(32, HEX)),
    "sendgrid": glue("S", "G.", body(22, WORD), ".", body(43, WORD)),
    "mailgun": glue("ke", "y-", body(32, HEX)),
    "mailchimp": glue(body(32, HEX), "-", "us19"),
    "brevo": glue("xkey", "sib-", body(64, HEX), "-", body(16)),
    "resend": glue("r", "e_", body(8), "_", body(24)),
    "linear": glue("lin", "_api_", body(40)),
    "notion": glue("nt", "n_", body(46)),
    "notion, older": glue("sec", "ret_", body(43)),
    "figma": glue("fi", "gd_", body(40, WORD)),
    "airtable": glue("pa", "t", body(14), ".", body(64, HEX)),
    "postman": glue("PM", "AK-", body(24, HEX), "-", body(34, HEX)),
    "dropbox": glue("s", "l.", body(136, WORD)),
    "stripe": glue("sk", "_live_", body(24)),
    "stripe restricted": glue("rk", "_test_", body(24)),
    "stripe hook": glue("wh", "sec_", body(32)),
    "square": glue("sq", "0atp-", body(22, WORD)),
    "shopify": glue("sh", "pat_", body(32, HEX)),
    "plaid": glue("acc", "ess-sandbox-", UUID),
    "json web token": WEB_TOKEN,
}


@pytest.mark.parametrize("name", TOKENS)
def test_a_token_of_a_provider_is_masked_and_its_neighbours_stay(name):
    token = TOKENS[name]

    masked = mask(f"Set up with {token} before the demo.")

    assert masked.text.startswith("Set up with ")
    assert masked.text.endswith(" before the demo.")
    assert token[-12:] not in masked.text
    assert "[masked:" in masked.text
    assert len(masked.kinds) == 1


KEY_LINES = "\n".join(body(64) for _ in range(4))


@pytest.mark.parametrize(
    "label",
    [
        "PRIVATE KEY",
        "RSA PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n"])
def test_a_private_key_is_masked_from_the_first_line_to_the_last(label, newline):
    armour = "-" * 5
    lines = [
        f"{armour}BEGIN {label}{armour}",
        *KEY_LINES.split("\n"),
        f"{armour}END {label}{armour}",
    ]

    masked = mask(f"before {newline.join(lines)} after")

    assert masked.text == "before [masked:private-key] after"


def test_a_private_key_that_was_cut_short_is_masked_and_the_text_after_it_stays():
    armour = "-" * 5

    masked = mask(
        f"{armour}BEGIN PRIVATE KEY{armour}\n{KEY_LINES}\n\nThen restart the service, please."
    )

    assert masked.text == "[masked:private-key]\n\nThen restart the service, please."


def test_the_private_part_of_a_putty_key_is_masked():
    lines = "\n".join(body(64) for _ in range(3))

    masked = mask(f"Private-Lines: 3\n{lines}\nPrivate-MAC: {body(40, HEX)}")

    assert masked.text.startswith("Private-Lines: 3\n[masked:private-key]")
    assert "Private-MAC:" in masked.text


IN_PLACE = [
    ("PASSWORD={}", HUNTER),
    ("password={}", HORSE),
    ("password: {}", HUNTER),
    ("Password: {}", glue("letme", "innow")),
    ('password = "{}"', glue("correct", "horse", "battery")),
    ("**Password:** {}", HUNTER),
    ('passphrase: "{}"', " ".join(("correct", "horse", "battery", "staple"))),
    ("export DB_PASSWORD='{}'", HORSE),
    ("DB_PASS={}", HUNTER),
    ("POSTGRES_PASSWORD={}", glue("correct", "horse")),
    ("MYSQL_PWD={}", HUNTER),
    ("dbPassword: '{}',", HORSE),
    ('"password": "{}"', HUNTER),
    ('{{\\"password\\": \\"{}\\"}}', HUNTER),
    ("client_secret={}", body(32)),
    ("AWS_SECRET_ACCESS_KEY={}", glue(body(20), "/", body(19))),
    ("aws_secret_access_key = {}", glue(body(13), "/", body(10), "/", body(15))),
    ("API_KEY={}", UUID),
    ("apiKey: '{}'", body(24)),
    ("X-Api-Key: {}", body(32, HEX)),
    ("api_key: str = '{}'", body(20)),
    ("token: {}", body(40, HEX)),
    ('os.environ["SERVICE_TOKEN"] = "{}"', body(24)),
    ("SECRET_KEY_BASE={}", body(128, HEX)),
    ("TOKEN ?= {}", body(20)),
    (":token => '{}'", body(20)),
    ('<add key="ApiKey" value="{}" />', body(20)),
    ("<password>{}</password>", HUNTER),
    ("https://example.org/hook?access_token={}&page=2", body(30)),
    ("Server=db;User Id=sa;Password={};Encrypt=true", HORSE),
    ("--password {} --verbose", HUNTER),
    ("deploy --api-key={} now", body(20)),
    ("login({{password: '{}'}})", HORSE),
    ("connect(password={})", HUNTER),
    ("the password is {}", HUNTER),
    ("The password for staging is {}.", HUNTER),
    ("The root password was `{}` until May", HUNTER),
    ("Password for the admin user: {}", HUNTER),
    ('log in with password "{}"', HUNTER),
    ("the api key is {}", body(24)),
    ("Das Passwort ist {}", HUNTER),
    ("the PIN is {}", "48213"),
    ("PIN: {}", "4821"),
    ("the staging password was changed to {}.", glue("Winter", "2025")),
    ("passphrase: {}", "correct horse battery staple"),
    (
        "seed phrase: {}",
        "gravity machine north sort system female filter attitude volume fold club",
    ),
    ("password: {}", glue("correct", "-horse-battery-staple")),
    ("| password | {} |", HUNTER),
    ("//registry.example.org/:_authToken={}", UUID),
    ("_auth={}", glue("dXNlcjpwYX", "NzdvcmQ=")),
    ('{{"auths": {{"hub": {{"auth": "{}"}}}}}}', glue("dXNlcjpwYX", "NzdvcmQ=")),
    ("client-key-data: {}", glue("LS0tLS1C", "RUdJTiBQUklWQVRFIEtFWS0tLS0t", body(60))),
    ("JWT_SECRET={}", glue("super", "secret")),
    ("admin:\n  password: {}\n", HUNTER),
    ("PASSWORD={}", body(900)),
    ("postgres://app:{}@db.example.org/app", HUNTER),
    ("redis://:{}@cache:6379/0", HORSE),
    ("mongodb+srv://admin:{}@cluster0.example.net", HUNTER),
    ("git clone https://x-access-token:{}@github.com/a/b", body(30)),
    ("Authorization: Bearer {}", body(40)),
    ('curl -H "Authorization: Basic {}"', glue("dXNlcj", "pwYXNz")),
    ('headers = {{"Authorization": "token {}"}}', body(40, HEX)),
    ("send it as Bearer {} every time", body(40)),
    ("Cookie: session={}", body(40)),
    ("curl -u admin:{} https://example.org", HUNTER),
    ("sshpass -p '{}' ssh host", HUNTER),
    ("mysql -u root -p{} app", HUNTER),
    ("machine example.org login me password {}", HUNTER),
    ("ALTER USER app IDENTIFIED BY '{}'", HUNTER),
    ("https://store.example.org/f?sv=1&sig={}", glue(body(43), "%3D")),
]


@pytest.mark.parametrize(("place", "secret"), IN_PLACE)
def test_a_secret_is_masked_where_secrets_stand_and_the_words_around_it_stay(place, secret):
    before, after = place.format("\0").split("\0")

    masked = mask(place.format(secret))

    assert masked.text.startswith(before)
    assert masked.text.endswith(after)
    assert secret not in masked.text
    assert masked.text[len(before) : len(masked.text) - len(after)].startswith("[masked:")
    assert masked.kinds


LOOK_ALIKES = [
    # Digests, ids, versions
    "commit da39a3ee5e6b4b0d3255bfef95601890afd80709 fixed it",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    f"integrity sha512-{body(80)}/{body(5)}==",
    "the request 550e8400-e29b-41d4-a716-446655440000 timed out",
    "version 3.12.0rc1+build.5, tag v2.10.4",
    "node 0199b1c2-7d3e-7f00-8a11-5c01f2e4ab37 was archived",
    "5c01f2e4ab37d9e0b1c2a3d4e5f60718 is the blob",
    # Types, declarations, code
    "password: string",
    "token: str",
    "token: str | None = None",
    "api_key: Optional[str] = None",
    "private_key: ed25519.Ed25519PrivateKey",
    "password = models.CharField(max_length=128)",
    "token = get_access_token(user, 'read')",
    "access_token = await client.get_access_token()",
    "secret = secrets.token_hex(32)",
    "password = self.password",
    "connect(password=password, token=token)",
    "password = hash_password(password2)",
    "const token = req.headers.authorization?.split(' ')[1]",
    "return {token: user.token, secret: config.secret}",
    "if token == previous_token: return",
    "tokens: 4096, max_tokens=2048",
    "num_tokens: 128000",
    "token_type: bearer",
    "credentials: 'same-origin'",
    'autocomplete="current-password"',
    "the password field1 is hidden",
    'Token: "#ddd0c0"',
    # Where the secret is, not what it is
    "API_KEY=process.env.API_KEY",
    "const key = process.env.STRIPE_SECRET_KEY",
    'token = os.environ["GITHUB_TOKEN"]',
    "PASSWORD=$DB_PASSWORD",
    "password: ${{ secrets.DB_PASSWORD }}",
    "TOKEN=$(gh auth token)",
    "Authorization: Bearer $TOKEN",
    'curl -H "Authorization: Bearer ${API_TOKEN}"',
    "password: {{ vault_db_password }}",
    "SECRET_KEY=/run/secrets/secret_key2",
    "password_file: /run/secrets/db_password",
    "private_key = keys/server2.pem",
    "the token lives in src/auth/token2.ts",
    "the secret is stored in infra/prod/secrets2.yaml",
    "secret: op://vault/item2/field",
    "secretKeyRef: db-credentials-v1",
    "arn:aws:secretsmanager:us-west-2:123456789012:secret:prod/db-a1b2c3",
    "kubectl create secret generic db-credentials2",
    "PASSWORD=%(password)s",
    "password=${DB_PASSWORD:-default1}",
    "SELECT id FROM users WHERE token = $1 AND password = :password1",
    "SECRET_KEY = get_random_secret_key()",
    "the api key is read from API_KEY_V2",
    "password: z.string().min(8)",
    "| token | varchar(255) | not null |",
    "fn verify(password: &str, token: &Token) -> bool",
    "certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSURCVENDQWU",
    # Placeholders
    "API_KEY=<your-key>",
    'API_KEY = "REPLACE_ME"',
    'api_key="..."',
    "Authorization: Bearer YOUR_ACCESS_TOKEN",
    "Authorization: Bearer test-token-123",
    "API_KEY=your-api-key-here",
    "api_key: YOUR_API_KEY",
    "password=changeme",
    "password: ********",
    "token: xxxxxxxxxxxxxxxx",
    "postgres://user:password@localhost/db",
    "postgres://postgres:postgres@localhost:5432/app",
    "https://user:${PASSWORD}@example.org",
    glue("export OPENAI_API_KEY=sk", "-xxxxxxxxxxxxxxxxxxxxxxxx"),
    "https://<user>:<password>@host",
    # Sentences about secrets
    "The password must be at least 12 characters",
    "passwords are hashed with argon2id",
    "the token is sha256-hashed before it is stored",
    "the secret is base64-encoded",
    "the token is valid for 3600s",
    "Password: required",
    "token: expired after 15 minutes",
    "the API key is sent as X-Api-Key",
    "Bearer authentication is required",
    "Authorization: required for all routes",
    "passphrase: never write this down anywhere",
    "API keys are 64-char hex strings",
    "the token endpoint is /oauth2/token",
    "encryption_key: aes-256-gcm",
    "secret: kubernetes.io/tls",
    "PASSWORD_MIN_LENGTH=12",
    "access_token_lifetime: 15m",
    "storageKey: 'app-theme-2024'",
    'tokenizer = "cl100k_base"',
    "password was rotated on 2026-03-01",
    "Basic authentication over HTTP2",
    "the key is RSA4096",
    "never log the password or the token",
    "rotate the api key every 90 days",
    "the pin is on row 13",
    "files with -----BEGIN PRIVATE KEY----- are refused",
    # Other things with the same letters
    "pip install hf_transfer scikit-learn",
    "class sk-button-primary-large-rounded-corners",
    "git@github.com:example/project.git",
    "ssh://git@example.org:2222/project.git",
    "http://localhost:8080/@scope/package",
    "docker run -u 1000:1000 image",
    "import { createHash } from 'node:crypto'",
    "from cryptography.hazmat.primitives.asymmetric import ed25519",
    f"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA{body(400, LETTERS + '+/')}==",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me@host",
    f"-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQ{body(40)}\n-----END PUBLIC KEY-----",
    f"-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAg{body(40)}\n-----END CERTIFICATE-----",
    "compass: north, bypass: true",
    "keyboard shortcuts: ctrl+k",
    "the key is 'user_id2'",
    "nextToken: eyJhIjoxfQ1234567890",
    "npm_config_registry=https://registry.npmjs.org",
    "pypi-publish uses trusted publishing",
    "re_compiled_pattern_of_the_tokenizer",
    "Use jose instead of jsonwebtoken for Edge compatibility",
    "src/components/PasswordResetForm2.tsx",
    "@types/node@20.11.30 and react-dom@18.2.0",
]


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_what_only_looks_like_a_secret_stays_as_it_is(text):
    masked = mask(text)

    assert masked.text is text
    assert masked.kinds == ()


def test_a_text_is_masked_in_every_place_and_each_kind_is_named_once():
    github = TOKENS["github classic"]
    text = f"push with {github}, pull with {github}; db password is {HUNTER}"

    masked = mask(text)

    assert masked.text == (
        "push with [masked:github-token], pull with [masked:github-token];"
        " db password is [masked:password]"
    )
    assert masked.kinds == ("github-token", "password")


def test_a_token_under_a_name_keeps_the_kind_of_the_token():
    assert (
        mask(f"GITHUB_TOKEN={TOKENS['github classic']}").text
        == "GITHUB_TOKEN=[masked:github-token]"
    )


def test_a_mask_that_names_a_secret_does_not_make_what_follows_one():
    text = f"[masked:password]: {HUNTER} is the name of the game"

    assert mask(text).text == text


def test_a_value_with_a_mask_inside_is_masked_whole():
    assert mask(f"PASSWORD=[masked:aws-key]{HUNTER}").text == "PASSWORD=[masked:password]"


def test_the_values_of_a_tree_are_masked_and_its_shape_stays():
    token = TOKENS["npm"]
    tree = {
        "op": "remember",
        "args": ["publish with", token, 3, None, True, 1.5],
        "env": {"DB_PASSWORD": HUNTER, "TOKEN": "$TOKEN", "HOME": "/root"},
    }

    assert mask_tree(tree) == {
        "op": "remember",
        "args": ["publish with", "[masked:npm-token]", 3, None, True, 1.5],
        "env": {"DB_PASSWORD": "[masked:password]", "TOKEN": "$TOKEN", "HOME": "/root"},
    }


def test_a_secret_used_as_a_key_is_masked():
    assert mask_tree({TOKENS["npm"]: 1}) == {"[masked:npm-token]": 1}
