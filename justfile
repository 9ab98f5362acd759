# Short names for what there is; `just` lists them. Nothing needs them: each is one command.

# Lists the recipes.
default:
    @just --list

# All that `.ci/run` checks without a long build: format, words, lints, documentation, rules of the tree (2 minutes after an edit).
check:
    cargo fmt --check
    bash .ci/words
    cargo clippy -q --all-targets --features snapshots -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc -q --no-deps --lib
    cargo test -q --features snapshots --test it -- tidy

# The tests whose path has NAME in it, such as `lab::` or `tidy`; all of them without.
test NAME="":
    cargo test --test it -- {{ NAME }}

# Spelling, licences and sources of dependencies.
words:
    bash .ci/words

# What PyTorch computes for the tests, written again; needs Python with the packages of tests/fixtures/README.md.
fixtures SCRIPT="generate.py":
    cd tests/fixtures && python3 {{ SCRIPT }}

# The pixel snapshots, painted again; look at what changed before it is committed.
snapshots:
    UPDATE_SNAPSHOTS=1 cargo test --features snapshots --test it -- looks_as_it_did

# A picture of the window without a display, such as `just window view.png --model demo:vit --view picture`.
window FILE *OPTIONS:
    xvfb-run -a -s "-screen 0 1280x800x24" cargo run --release -- open --screenshot {{ FILE }} {{ OPTIONS }}

# A bench in Rust by its name, such as `views` or `lab`.
bench NAME *OPTIONS:
    cargo bench --bench {{ NAME }} -- {{ OPTIONS }}

# Archive, .deb, AppDir and wheel of the release build, each tried in an empty root (Linux).
dist FOLDER="target/dist":
    cargo build --release
    bash packaging/linux target/release/attnscope {{ FOLDER }}
    python3 packaging/wheel.py target/release/attnscope {{ FOLDER }}
    bash packaging/try {{ FOLDER }}

# Training recipes, all of them, on the sample of the repository; `.ci/run` runs one.
recipes *NAMES="all":
    bash .ci/recipes {{ NAMES }}

# Everything that a change must pass (40 minutes).
ci:
    bash .ci/run
