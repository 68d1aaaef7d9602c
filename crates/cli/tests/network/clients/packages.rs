//! Package managers, from registries that have one small package.

use super::Client;

const PACKAGES: Client<'static> = Client { allow: "pkg.test", name: "pkg.test", ..Client::USUAL };

#[test]
fn pip() {
    Client {
        needs: &["/usr/bin/pip3"],
        // Without tries that wait for one another.
        script: "rm -rf out; /usr/bin/python3 -m pip -q install --disable-pip-version-check \
                 --no-cache-dir --retries 1 --index-url https://$NAME/simple/ --target out tiny\n\
                 PYTHONPATH=out /usr/bin/python3 -B -c 'import tiny; print(\"is\", tiny.VALUE)'",
        works: "is 42",
        ..PACKAGES
    }
    .check();
}

#[test]
fn npm() {
    Client {
        needs: &["npm"],
        script: "rm -rf out; mkdir out; cd out; echo '{}' >package.json\n\
                 npm install --silent --no-audit --no-fund --no-update-notifier \
                 --fetch-retries=0 --registry=https://$NAME/npm/ tiny\n\
                 node -p '\"is \" + require(\"tiny\")'",
        works: "is 42",
        ..PACKAGES
    }
    .check();
}

#[test]
fn cargo() {
    let manifest = "[package]\nname = \"user\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\
                    [dependencies]\ntiny = { version = \"0.1\", registry = \"ours\" }\n";
    Client {
        needs: &["cargo"],
        files: &[("user/Cargo.toml", manifest), ("user/src/lib.rs", "")],
        script: "cd user; rm -f Cargo.lock; export CARGO_HOME=$PWD/home CARGO_NET_RETRY=0\n\
                 export CARGO_REGISTRIES_OURS_INDEX=sparse+https://$NAME/cargo/\n\
                 rm -rf home; cargo fetch -q; grep -rh VALUE home/registry/src",
        works: "VALUE: u32 = 42",
        ..PACKAGES
    }
    .check();
}

#[test]
fn apt() {
    Client {
        needs: &["apt-get"],
        script: "rm -rf apt; mkdir -p apt/etc apt/state/lists/partial apt/cache/archives/partial\n\
                 echo \"deb [trusted=yes] http://$NAME/apt ./\" >apt/list; : >apt/status\n\
                 apt-get -o Dir::Etc=$PWD/apt/etc -o Dir::Etc::sourcelist=$PWD/apt/list \
                 -o Dir::State=$PWD/apt/state -o Dir::State::status=$PWD/apt/status \
                 -o Dir::Cache=$PWD/apt/cache -o APT::Sandbox::User= -o Acquire::Retries=0 \
                 -o Acquire::Languages=none -o Acquire::GzipIndexes=false -o Dir::Log=$PWD/apt \
                 -o APT::Update::Error-Mode=any -qq update\n\
                 cat apt/state/lists/*Packages",
        works: "Package: tiny",
        ..PACKAGES
    }
    .check();
}
