//! git, over both of its ways.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{Client, Service, Ways};

const GIT: Client<'static> = Client {
    needs: &["git"],
    allow: "git.test",
    name: "git.test",
    works: "a small thing",
    ..Client::USUAL
};

#[test]
fn git_over_https() {
    let script =
        "out=$(mktemp -d -p .)/out; git clone -q https://$NAME/git/tiny.git $out; cat $out/README";
    Client { script, ..GIT }.check();
}

#[test]
fn git_over_ssh() {
    let client = Client {
        needs: &["git", "ssh"],
        allow: "git.test:22",
        services: &[Service::Ssh],
        script: "export GIT_SSH_COMMAND=\"ssh -F none -i $PWD/key -o IdentitiesOnly=yes \
                 -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
                 -o LogLevel=ERROR\"\n\
                 out=$(mktemp -d -p .)/out\n\
                 git clone -q ssh://git@$NAME$(cat where)/tiny.git $out; cat $out/README",
        ways: Ways::Direct,
        ..GIT
    };
    let Some(bench) = client.bench() else { return };
    let repositories = bench.internet.repositories().display().to_string();
    bench.project.put("work/where", repositories);
    bench.project.put("work/key", fs::read(bench.internet.ssh_key()).unwrap());
    let key = bench.project.path("work/key");
    fs::set_permissions(key, fs::Permissions::from_mode(0o600)).unwrap();
    client.check_on(&bench);
}
