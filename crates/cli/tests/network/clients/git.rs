//! git, over both of its ways.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use zonekeep_testkit::internet::Side;

use super::{Bench, Client, NO_PROXY, Service, Ways};

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

/// docs/guide/recipes.md: the token reaches the git server and no command.
#[test]
fn git_push_over_https_with_a_secret() {
    const VALUE: &str = "token-of-the-git-server";
    let recipe = super::recipe("git push over https").replace("git.example.org", "git.test");
    let lines = recipe.split_once("  network:").map(|(_, lines)| format!("  network:{lines}"));
    let Some(bench) = Bench::with(&lines.unwrap()) else { return };
    let helper = super::shown("git config credential.").replace("git.example.org", "git.test");
    let private = bench.internet.repositories().join("private.git");
    let clone = format!(
        "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'\n\
         git clone -q {} work/repo; cd work/repo\n\
         git remote set-url origin https://git.test/git/private.git\n{helper}",
        private.display()
    );
    let mut user = bench.internet.command(Side::Control, &bench.project, "sh");
    bench.project.finish(user.args(["-ec", &clone])).ok();
    let push = "cd repo; echo $GIT_TOKEN > told; git add told\n\
                git -c user.name=a -c user.email=a@b commit -q -m $BRANCH --allow-empty\n\
                git push -q origin HEAD:refs/heads/$BRANCH; echo pushed";
    for (way, branch) in [("", "proxied"), (NO_PROXY, "direct")] {
        let script = format!("{way}export GIT_TERMINAL_PROMPT=0 BRANCH={branch}\n{push}");
        let mut command = bench.zonekeep();
        command.env("GIT_TOKEN", VALUE).args(["run", "--", "sh", "-ec", &script]);
        let run = bench.project.finish(&mut command);
        assert_eq!(run.ok(), "pushed", "{run}");
        let mut shown = bench.internet.command(Side::Control, &bench.project, "git");
        shown.args(["-c", "safe.directory=*", "-C"]).arg(&private);
        let told = bench.project.finish(shown.args(["show", &format!("{branch}:told")]));
        assert!(told.ok().starts_with("zonekeep-secret-"), "{told}");
    }
    // The control: without the token the server lets nobody in.
    let mut without = bench.zonekeep();
    let script = format!("export GIT_TERMINAL_PROMPT=0 BRANCH=without\n{push}");
    without.env("GIT_TOKEN", "another-token").args(["run", "--", "sh", "-ec", &script]);
    assert_ne!(bench.project.finish(&mut without).exit, 0);
}
