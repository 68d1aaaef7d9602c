use proptest::prelude::*;

use super::*;
use crate::path::AgentPath;
use crate::source::At;

fn path(text: &str) -> RelPath {
    AgentPath::absolute(&format!("/{text}")).unwrap().as_rel().clone()
}

fn defaults() -> CommandGuards {
    CommandGuards::of(&Guards::default(), Caller::Agent)
}

/// Drops everything but the pattern.
fn plain(found: Planted<'_>) -> Planted<'_> {
    match found {
        Planted::Listed(listed) => Planted::Guarded(listed.pattern),
        found => found,
    }
}

/// Returns the default guards with what a project file says about one file.
fn with(pattern: &str, guard: Guard) -> CommandGuards {
    let mut guards = Guards::default();
    let at = At::File { file: "zonekeep.yaml".into(), line: 1, column: 1 };
    guards.set(pattern, guard, at);
    CommandGuards::of(&guards, Caller::Agent)
}

#[test]
fn what_ordinary_git_leaves_is_free_and_what_runs_later_is_not() {
    use Content::*;
    use Planted::*;
    let cases = [
        ("src/main.rs", Free),
        ("", Free),
        (".gitignore", Free),
        (".git/", Free),
        (".git/HEAD", Free),
        (".git/index", Free),
        (".git/index.lock", Free),
        (".git/packed-refs", Free),
        (".git/refs/heads/main", Free),
        (".git/logs/refs/heads/main", Free),
        (".git/objects/ab/cdef", Free),
        (".git/objects/info/alternates", Free),
        (".git/info/exclude", Free),
        (".git/info/sparse-checkout", Free),
        (".git/description", Free),
        (".git/branches/", Free),
        (".git/rebase-merge/done", Free),
        (".git/config", Depends(GitConfig)),
        (".GIT/Config", Depends(GitConfig)),
        ("a/b/.git/config", Depends(GitConfig)),
        (".git/config/", Free),
        (".git/config.lock", Free),
        (".git/config.worktree", Depends(GitConfig)),
        (".git/hooks/", Free),
        (".git/hooks", Guarded(".git/hooks/**")),
        (".git/hooks/pre-commit", Guarded(".git/hooks/**")),
        (".git/HOOKS/pre-commit", Guarded(".git/hooks/**")),
        (".git/hooks/pre-commit.sample", Free),
        (".git/hooks/lib/", Guarded(".git/hooks/**")),
        (".git/hooks/x.sample/run", Guarded(".git/hooks/**")),
        (".git/info/attributes", Depends(GitAttributes)),
        (".git/commondir", Depends(CommonDir)),
        (".git/remotes/origin", Guarded(".git/remotes/**")),
        (".git/branches/origin", Guarded(".git/branches/**")),
        (".git/rebase-merge/git-rebase-todo", Depends(Unfinished)),
        (".git/rebase-merge/strategy", Depends(Unfinished)),
        (".git/sequencer/opts", Depends(Unfinished)),
        (".git/worktrees/w/HEAD", Free),
        (".git/worktrees/w/gitdir", Free),
        (".git/worktrees/w/commondir", Depends(CommonDir)),
        (".git/worktrees/w/config", Depends(GitConfig)),
        (".git/worktrees/w/config.worktree", Depends(GitConfig)),
        (".git/worktrees/w/hooks/post-checkout", Guarded(".git/worktrees/*/hooks/**")),
        (".git/worktrees/w/rebase-merge/git-rebase-todo", Depends(Unfinished)),
        (".git/worktrees/w/modules/s/config", Depends(GitConfig)),
        (".git/modules/s/HEAD", Free),
        (".git/modules/s/", Free),
        (".git/modules/s/config", Depends(GitConfig)),
        (".git/modules/a/b/c/config", Depends(GitConfig)),
        (".git/modules/s/modules/t/config", Depends(GitConfig)),
        (".git/modules/config", Depends(GitConfig)),
        (".git/modules/config/HEAD", Free),
        (".git/modules/s/hooks/", Free),
        (".git/modules/s/hooks/update.sample", Free),
        (".git/modules/a/b/hooks/update", Guarded(".git/modules/**/hooks/**")),
        (".git/modules/s/info/attributes", Depends(GitAttributes)),
        (".git/modules/s/commondir", Depends(CommonDir)),
        (".git", Depends(GitLink)),
        ("sub/.git", Depends(GitLink)),
        (".git/x/.git", Depends(GitLink)),
        (".git/x/.git/config", Depends(GitConfig)),
        (".gitattributes", Depends(GitAttributes)),
        ("a/.GitAttributes", Depends(GitAttributes)),
        (".gitattributes/", Free),
        (".gitmodules", Depends(GitModules)),
        (".gitconfig", Guarded(".gitconfig")),
        (".config/git/config", Guarded(".config/git/**")),
        (".hg/", Free),
        (".hg/store/00changelog.i", Free),
        (".hg/hgrc", Guarded(".hg/hgrc")),
        (".hg/HGRC", Guarded(".hg/hgrc")),
        (".hg/hgrc-not-shared", Guarded(".hg/hgrc-not-shared")),
        (".hg/sharedpath", Guarded(".hg/sharedpath")),
        (".hgrc", Guarded(".hgrc")),
        (".svn/wc.db", Free),
        (".jj/repo/", Free),
        (".jj/repo/store/type", Free),
        (".jj/repo", Guarded(".jj/repo")),
        (".jj/repo/config.toml", Guarded(".jj/repo/config.toml")),
        (".jj/repo/workspace-config.toml", Guarded(".jj/repo/workspace-config.toml")),
        (".vscode/", Guarded(".vscode/**")),
        ("x/.vscode/tasks.json", Guarded(".vscode/**")),
        (".envrc", Guarded(".envrc")),
        ("zonekeep.yaml", Guarded("zonekeep.yaml")),
        (".git/x/zonekeep.yaml", Guarded("zonekeep.yaml")),
        (".cargo/", Free),
        (".cargo/config.toml", Guarded(".cargo/config.toml")),
    ];
    let guards = defaults();
    for (text, want) in cases {
        assert_eq!(plain(guards.find(&path(text), text.ends_with('/'))), want, "{text}");
    }
}

#[test]
fn a_link_is_guarded_where_a_directory_could_hold_guarded_files() {
    let cases = [
        ("src/current", false),
        ("node_modules/.bin/tsc", false),
        (".cargo", true),
        (".config", true),
        (".vscode", true),
        (".git", true),
        (".git/modules", true),
        (".git/modules/s", true),
        (".git/info", true),
        (".git/worktrees/w", true),
        (".gitattributes", true),
        (".gitmodules", true),
        (".hg/store", true),
        (".jj/repo", true),
        (".envrc", true),
    ];
    for (text, guarded) in cases {
        let guards = defaults();
        let found = guards.find_link(&path(text));
        assert_eq!(matches!(plain(found), Planted::Guarded(_)), guarded, "{text}: {found:?}");
    }
    assert_eq!(with(".git/**", Guard::Allow).find_link(&path(".git/info")), Planted::Free);
}

#[test]
fn a_project_frees_and_guards_single_files() {
    use Planted::*;
    let config = Depends(Content::GitConfig);
    let cases = [
        // pattern, guard, path, what becomes of it
        (".git/config", Guard::Allow, ".git/config", Free),
        (".git/config", Guard::Allow, ".git/hooks/x", Guarded(".git/hooks/**")),
        (".git/config", Guard::Block, ".git/config", Guarded(".git/config")),
        (".git/config", Guard::Ask, "a/.git/config", Guarded(".git/config")),
        (".git/hooks/**", Guard::Allow, ".git/hooks/x", Free),
        (".git/refs/**", Guard::Block, ".git/refs/heads/x", Guarded(".git/refs/**")),
        (".git", Guard::Block, ".git/HEAD", Guarded(".git")),
        (".git/**", Guard::Allow, ".git/config", Free),
        (".git/**", Guard::Allow, ".git", Free),
        (".git/**", Guard::Allow, ".gitmodules", Depends(Content::GitModules)),
        (".git/**", Guard::Ask, ".git/config", config),
        (".git/**", Guard::Block, ".git/HEAD", Free),
        (".gitmodules", Guard::Allow, ".gitmodules", Free),
        (".gitmodules", Guard::Ask, ".gitmodules", Depends(Content::GitModules)),
        (".gitmodules", Guard::Block, ".gitmodules", Guarded(".gitmodules")),
        (".gitattributes", Guard::Block, "a/.gitattributes", Guarded(".gitattributes")),
        (".hg/**", Guard::Allow, ".hg/hgrc", Free),
        (".hg/hgrc", Guard::Allow, ".hg/hgrc", Free),
        (".jj/repo/config.toml", Guard::Allow, ".jj/repo/config.toml", Free),
        (".svn/**", Guard::Block, ".svn/wc.db", Guarded(".svn/**")),
        (".envrc", Guard::Allow, ".envrc", Free),
        ("*.key", Guard::Block, "a/b.key", Guarded("*.key")),
    ];
    for (pattern, guard, text, want) in cases {
        let guards = with(pattern, guard);
        assert_eq!(plain(guards.find(&path(text), false)), want, "{pattern}: {guard:?}, {text}");
    }
}

#[test]
fn programs_of_a_project_are_guarded_from_the_file_tools_alone() {
    for program in ["node_modules/.bin/tree", "a/.venv/bin/x", "venv/bin/x"] {
        let guards = Guards::default();
        let found = guards.find(&path(program), Reach::File).map(|entry| entry.guard.value);
        assert_eq!(found, Some(Guard::Ask), "{program}");
        assert_eq!(defaults().find(&path(program), false), Planted::Free, "{program}");
    }
    let written = with("node_modules/.bin/**", Guard::Block);
    assert_ne!(written.find(&path("node_modules/.bin/tree"), false), Planted::Free);
}

#[test]
fn guards_can_be_sent() {
    let guards = with("packages/**", Guard::Allow);
    let sent = serde_json::to_string(&guards).unwrap();
    assert_eq!(serde_json::from_str::<CommandGuards>(&sent).unwrap(), guards);
    assert!(guards.patterns().any(|pattern| pattern == ".envrc"));
    assert!(!guards.patterns().any(|pattern| pattern == ".git/**"));
    let names: Vec<_> = guards.repository_names().collect();
    assert_eq!(names, [".git", ".hg", ".jj", ".gitattributes", ".gitmodules"]);
}

#[test]
fn levels_depend_on_the_file_and_on_the_caller() {
    use Level::*;
    let cases = [
        // path, for the user, for an agent, at once, names before the match
        (".github/workflows/ci.yml", Report, Ask, false, 0),
        (".pre-commit-config.yaml", Report, Ask, false, 0),
        ("a/.devcontainer/devcontainer.json", Report, Ask, false, 1),
        (".npmrc", Report, Ask, false, 0),
        (".cargo/config.toml", Report, Ask, false, 0),
        (".vscode/settings.json", Ask, Ask, true, 0),
        ("a/b/.claude/settings.json", Ask, Ask, true, 2),
        (".husky/pre-commit", Ask, Ask, false, 0),
        (".bashrc", Block, Block, true, 0),
        ("zonekeep.yaml", Block, Block, true, 0),
        ("x/zonekeep.yaml", Ask, Ask, true, 1),
        ("x/a.worker", Block, Block, true, 1),
        (".ssh/authorized_keys", Block, Block, true, 0),
        ("a/.netrc", Ask, Ask, true, 1),
    ];
    for (text, user, agent, at_once, depth) in cases {
        for (caller, level) in [(Caller::User, user), (Caller::Agent, agent)] {
            let guards = CommandGuards::of(&Guards::default(), caller);
            let path = path(text);
            let Planted::Listed(listed) = guards.find(&path, false) else { panic!("{text}") };
            let found = (listed.level, listed.at_once, listed.depth);
            assert_eq!(found, (level, at_once, depth), "{text} {caller:?}");
        }
    }
}

#[test]
fn dependencies_and_build_results_are_no_configuration() {
    let free = [
        "node_modules/pkg/.github/workflows/ci.yml",
        "a/node_modules/pkg/.npmrc",
        "vendor/crate/.cargo/config.toml",
        "target/debug/build/x/.vscode/a",
        "build/.envrc",
        "lib/python3/site-packages/p/.pre-commit-config.yaml",
        ".gradle/8.5/checksums/checksums.lock",
        "Build/zonekeep.yaml",
    ];
    for text in free {
        assert_eq!(defaults().find(&path(text), false), Planted::Free, "{text}");
        assert_eq!(defaults().find_link(&path(text)), Planted::Free, "{text}");
    }
    let guarded = [
        "builds/.envrc",
        ".vscode/build/x",
        ".gradle/init.d/evil.gradle",
        "vendor/x/.git/hooks/pre-commit",
        "node_modules/.git/config",
    ];
    for text in guarded {
        assert_ne!(defaults().find(&path(text), false), Planted::Free, "{text}");
    }
    // A pattern that the project wrote applies there as well.
    let written = with(".npmrc", Guard::Ask);
    assert_ne!(written.find(&path("node_modules/p/.npmrc"), false), Planted::Free);
}

#[test]
fn an_exempt_directory_frees_what_is_below_it() {
    let guards = with("examples/**", Guard::Allow);
    assert_eq!(guards.find(&path("examples/a/.vscode/x"), false), Planted::Free);
    for text in [".vscode/examples/x", "examples/zonekeep.yaml", "examples/.git/hooks/x"] {
        assert_ne!(guards.find(&path(text), false), Planted::Free, "{text}");
    }
}

#[test]
fn repositories_without_a_work_tree_are_known_and_looked_into() {
    let is = |names: &[&str]| {
        bare_repository(&names.iter().map(|name| name.as_bytes()).collect::<Vec<_>>())
    };
    assert!(is(&["HEAD", "config", "hooks", "objects", "refs"]));
    assert!(is(&["head", "Objects", "REFS"]));
    assert!(is(&["HEAD", "commondir"]));
    assert!(!is(&["HEAD", "objects"]));
    assert!(!is(&["objects", "refs", "config"]));
    assert!(!is(&[]));
    use Planted::*;
    let cases = [
        ("config", Depends(Content::GitConfig)),
        ("HEAD", Free),
        ("hooks/", Free),
        ("hooks/update", Guarded("hooks/**")),
        ("hooks/update.sample", Free),
        ("info/attributes", Depends(Content::GitAttributes)),
        ("commondir", Depends(Content::CommonDir)),
        ("modules/s/config", Depends(Content::GitConfig)),
        ("worktrees/w/hooks/x", Guarded(".git/worktrees/*/hooks/**")),
        ("objects/ab/cd", Free),
        ("", Free),
    ];
    for (text, want) in cases {
        assert_eq!(defaults().find_in_bare(&path(text), text.ends_with('/')), want, "{text}");
    }
    let free = with(".git/**", Guard::Allow);
    assert_eq!(free.find_in_bare(&path("config"), false), Free);
}

fn harmless_config(text: &str) -> bool {
    is_harmless(Content::GitConfig, &path("p/.git/config"), text.as_bytes(), None)
}

const INIT: &str = "[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
";

#[test]
fn configurations_that_git_itself_writes_are_harmless() {
    let more = [
        "",
        "\tignorecase = true\n\tprecomposeunicode = true\n",
        "\tsymlinks = false\n\tautocrlf = input\n",
        "[remote \"origin\"]\n\turl = /srv/up\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
        "[remote \"origin\"]\n\turl = https://github.com/a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
        "[remote \"up\"]\n\turl = git@github.com:a/b.git\n\tpushurl = ssh://git@example.com:22/a/b\n",
        "[remote \"v6\"]\n\turl = [::1]:a/b\n\ttagOpt = --no-tags\n\tprune = true\n",
        "[remote \"origin\"]\n\turl = file:///srv/up\n\tpromisor = true\n\tpartialclonefilter = blob:none\n[extensions]\n\tpartialClone = origin\n",
        "[remote \"origin\"]\n\turl = ../up\n\tfetch = +refs/*:refs/*\n\tmirror = true\n",
        "[branch \"feature/x.y\"]\n\tremote = .\n\tmerge = refs/heads/main\n\trebase = true\n\tpushRemote = fork\n",
        "[branch \"main\"]\n\tdescription = \"line one\\nline two\\n\"\n",
        "[submodule \"lib/a\"]\n\turl = https://example.com/a\n\tactive = true\n",
        "[submodule]\n\tactive = .\n[submodule \"s\"]\n\tupdate = rebase\n\turl = ../s\n",
        "[user]\n\tname = A. Nother <3\n\temail = a@example.com\n",
        "[extensions]\n\tworktreeConfig = true\n\tobjectFormat = sha256\n\trelativeWorktrees = true\n",
        "[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = true\n[index]\n\tsparse = false\n",
        "[pull]\n\trebase = true\n[push]\n\tautoSetupRemote = true\n[fetch]\n\tprune\n",
        "[color]\n\tui = auto\n[color \"branch\"]\n\tcurrent = yellow reverse\n[advice]\n\tdetachedHead = false\n",
        "[gc]\n\tauto = 0\n[merge]\n\tconflictStyle = zdiff3\n[rebase]\n\tautosquash\n[status]\n\tshort = true\n",
        "[lfs]\n\trepositoryformatversion = 0\n",
        "# a comment\n; another = [one]\n",
    ];
    for more in more {
        let text = format!("{INIT}{more}");
        assert!(harmless_config(&text), "{text}");
        assert!(harmless_config(&text.replace('\n', "\r\n")), "{text} with CRLF");
    }
    assert!(harmless_config(""));
    let module = format!("{INIT}\tworktree = ../../../sub\n");
    let at = |file: &str| is_harmless(Content::GitConfig, &path(file), module.as_bytes(), None);
    assert!(at(".git/modules/sub/config"));
    assert!(at("a/.git/modules/other/config"));
    for elsewhere in [".git/config", "sub/config", ".git/modules/a/b/config", ".git/modules/config"]
    {
        assert!(!at(elsewhere), "{elsewhere}");
    }
    let deep = "[core]\nworktree = ../../../../../sub/inner\n".as_bytes();
    let nested = path(".git/modules/sub/modules/inner/config");
    assert!(is_harmless(Content::GitConfig, &nested, deep, None));
}

#[test]
fn configurations_that_run_a_program_are_not_harmless() {
    let attacks = [
        "[core]\n\tfsmonitor = ./evil\n",
        "[core]\n\thooksPath = ./hooks\n",
        "[core]\n\tpager = ./evil\n",
        "[core]\n\teditor = ./evil\n",
        "[core]\n\tsshCommand = ./evil\n",
        "[core]\n\tgitProxy = ./evil\n",
        "[core]\n\taskPass = ./evil\n",
        "[core]\n\tattributesFile = evil\n",
        "[core]\n\texcludesFile = evil\n",
        "[core]\n\tprotectNTFS = false\n",
        "[core]\n\tworktree = /home\n",
        "[core]\n\tworktree = ..\n",
        "[core] pager = ./evil\n",
        "[CORE]\n\tPaGeR = ./evil\n",
        "[core]pager=./evil",
        "[core]\n\tpager = \\\n./evil\n",
        "[core]\n\tbare = false # x\n\tpager = ./evil\n",
        "[core]\n\tbare = false # x\\\n\tpager = ./evil\n",
        "[core]\n\tbare = \"false\" ; \"\n\tpager = ./evil\n",
        "[core]\r\n\tpager = ./evil\r\n",
        "\u{feff}[core]\n\tpager = ./evil\n",
        "[core][core]pager=./evil\n",
        "[alias]\n\tst = !./evil\n",
        "[alias \"st\"]\n\tcommand = !./evil\n",
        "[filter \"x\"]\n\tclean = ./evil\n",
        "[filter \"lfs\"]\n\tprocess = ./evil\n",
        "[filter.x]\n\tsmudge = ./evil\n",
        "[diff]\n\texternal = ./evil\n",
        "[diff \"x\"]\n\ttextconv = ./evil\n",
        "[difftool \"x\"]\n\tcmd = ./evil\n",
        "[merge \"x\"]\n\tdriver = ./evil\n",
        "[merge]\n\ttool = evil\n",
        "[mergetool \"x\"]\n\tcmd = ./evil\n",
        "[credential]\n\thelper = !./evil\n",
        "[credential \"https://x\"]\n\thelper = ./evil\n",
        "[include]\n\tpath = evil\n",
        "[includeIf \"gitdir:**\"]\n\tpath = evil\n",
        "[url \"ext::sh -c evil\"]\n\tinsteadOf = https://\n",
        "[gpg]\n\tprogram = ./evil\n",
        "[gpg \"ssh\"]\n\tdefaultKeyCommand = ./evil\n",
        "[protocol \"ext\"]\n\tallow = always\n",
        "[protocol]\n\tallow = always\n",
        "[http]\n\tproxy = evil\n",
        "[http]\n\tsslVerify = false\n",
        "[sequence]\n\teditor = ./evil\n",
        "[interactive]\n\tdiffFilter = ./evil\n",
        "[pager]\n\tstatus = ./evil\n",
        "[web]\n\tbrowser = evil\n",
        "[browser \"x\"]\n\tcmd = ./evil\n",
        "[help]\n\tautocorrect = immediate\n",
        "[init]\n\ttemplateDir = evil\n",
        "[uploadpack]\n\tpackObjectsHook = ./evil\n",
        "[receive]\n\tprocReceiveRefs = refs\n",
        "[sendemail]\n\tsmtpServer = ./evil\n",
        "[trailer \"x\"]\n\tcommand = ./evil\n",
        "[commit]\n\ttemplate = evil\n",
        "[user]\n\tsigningKey = evil\n",
        "[lfs \"customtransfer.x\"]\n\tpath = ./evil\n",
        "[guitool \"x\"]\n\tcmd = ./evil\n",
        "[core \"x\"]\n\tbare = false\n",
        "[remote \"o\"]\n\turl = ext::sh -c evil\n",
        "[remote \"o\"]\n\turl = \"ext::sh -c evil\"\n",
        "[remote \"o\"]\n\turl = fd::3\n",
        "[remote \"o\"]\n\turl = evil::x\n",
        "[remote \"o\"]\n\turl = evil://x\n",
        "[remote \"o\"]\n\turl = ssh://-oProxyCommand=evil/x\n",
        "[remote \"o\"]\n\turl = --upload-pack=evil\n",
        "[remote \"o\"]\n\turl\n",
        "[remote \"o\"]\n\turl = \"a\\nb\"\n",
        "[remote \"o\"]\n\tpushurl = ext::evil\n",
        "[remote \"o\"]\n\tuploadpack = ./evil\n",
        "[remote \"o\"]\n\treceivepack = ./evil\n",
        "[remote \"o\"]\n\tvcs = evil\n",
        "[remote \"o\"]\n\tproxy = evil\n",
        "[remote \"--upload-pack=evil\"]\n\turl = a\n",
        "[remote.o]\n\turl = ext::evil\n",
        "[remote]\n\turl = a\n",
        "[branch \"m\"]\n\tremote = ext::evil\n",
        "[branch \"m\"]\n\tremote = --upload-pack=evil\n",
        "[branch \"m\"]\n\tpushRemote = ext::evil\n",
        "[extensions]\n\tpartialClone = ext::evil\n",
        "[submodule \"s\"]\n\tupdate = !./evil\n",
        "[submodule \"s\"]\n\turl = ext::evil\n",
        "[submodule \"../../x\"]\n\turl = a\n",
        "[submodule \"-x\"]\n\tactive = true\n",
        "[user]\n\tname = \"a\\b\"\n",
        "[core]\n\tbare = false\n\0",
        "[core\n\tbare = false\n",
        "[core]\n\tbare = \"false\n",
        "1f0b3ca7d001699ac751f0d7fd0b9ecc1725aaf1\n",
    ];
    for attack in attacks {
        assert!(!harmless_config(attack), "{attack}");
        assert!(!harmless_config(&format!("{INIT}{attack}")), "{attack}");
    }
    assert!(!harmless_config("bare = false\n"));
    let long = format!("{INIT}#{}", "x".repeat(1 << 20));
    assert!(!harmless_config(&long));
    for worktree in
        ["../../../../x", "../../x", "../../../.git/hooks", "../../../a/../../b", "../../../", "/x"]
    {
        let text = format!("[core]\n\tworktree = {worktree}\n");
        let file = path(".git/modules/sub/config");
        assert!(!is_harmless(Content::GitConfig, &file, text.as_bytes(), None), "{worktree}");
    }
}

#[test]
fn a_setting_that_was_there_before_is_the_users_own() {
    let file = path(".git/config");
    let before = "[alias]\n\tst = !mine\n[core]\n\tpager = less\n";
    let cases = [
        (before, true),
        ("[core]\n\tPager = less # same\n[Alias]\n\tst = \"!mine\"\n", true),
        ("[core]\n\tpager = less\n[remote \"o\"]\n\turl = a\n", true),
        ("[core]\n\tpager = evil\n", false),
        ("[core]\n\teditor = less\n", false),
        ("[core]\n\tpager = less\n\tpager = less\n", false),
        ("[alias]\n\tsT = !mine\n[core \"x\"]\n\tpager = less\n", false),
        ("[alias]\n\tother = !mine\n", false),
        ("[core]\n\tpager\n", false),
    ];
    for (now, want) in cases {
        let got = is_harmless(Content::GitConfig, &file, now.as_bytes(), Some(before.as_bytes()));
        assert_eq!(got, want, "{now}");
    }
    let broken = Some(&b"[alias\n\tst = !mine\n"[..]);
    assert!(!is_harmless(Content::GitConfig, &file, b"[alias]\n\tst = !mine\n", broken));
}

#[test]
fn attributes_are_harmless_unless_they_name_a_driver() {
    let cases = [
        ("* text=auto\n*.sh eol=lf\n", true),
        ("*.png binary -diff !merge\n", true),
        ("*.bin filter=lfs diff=lfs merge=lfs -text\n", true),
        ("*.rs diff=rust\n*.py diff=python\nCHANGELOG merge=union\n", true),
        ("a export-ignore linguist-generated=true working-tree-encoding=UTF-16\n", true),
        ("# * filter=evil\n\n  # more filter=evil\n", true),
        ("* filter -filter=evil !diff=evil\n", true),
        ("mine filter=mine\n", true),
        ("  mine filter=mine\n", true),
        ("\u{feff}* filter=evil\n", false),
        ("* filter=evil\n", false),
        ("* text filter=evil", false),
        ("*\tdiff=evil\n", false),
        ("* merge=ours\n", false),
        ("* filter=\n", false),
        ("* filter=lfsx\n", false),
        ("* Filter=lfs filter=LFS\n", false),
        ("mine2 filter=mine\n", false),
        ("[attr]x filter=evil\n", false),
        ("\"a b\" filter=evil\n", false),
        ("\"a\"filter=evil\n", false),
        ("\"# a\" filter=evil\n", false),
        ("\u{c}# filter=evil\n", false),
        ("* filter=lfs\"x\n", false),
        ("* a\r filter=evil\r\n", false),
        ("* text\0\n", false),
    ];
    let before = Some(&b"mine filter=mine\n"[..]);
    for (now, want) in cases {
        let got =
            is_harmless(Content::GitAttributes, &path(".gitattributes"), now.as_bytes(), before);
        assert_eq!(got, want, "{now:?}");
    }
}

#[test]
fn submodules_are_harmless_unless_they_run_or_lead_elsewhere() {
    let cases = [
        ("path = lib/a\n\turl = ../a\n\tbranch = main\n", true),
        (
            "path = a\n\turl = https://example.com/a.git\n\tupdate = rebase\n\tshallow = true\n",
            true,
        ),
        ("update = !./evil\n", false),
        ("update = \"!./evil\"\n", false),
        ("path = -evil\n", false),
        ("path = ../evil\n", false),
        ("path = /evil\n", false),
        ("path = .git/hooks\n", false),
        ("path = \"a\\b\"\n", false),
        ("path = \"a\r\"\n", false),
        ("url = -evil\n", false),
        ("url = ext::evil\n", false),
        ("url = fd::3\n", false),
        ("url = \"a\\nb\"\n", false),
        ("url\n", false),
        ("path = \"a\n", false),
    ];
    let check = |text: &str, before: Option<&[u8]>| {
        is_harmless(Content::GitModules, &path(".gitmodules"), text.as_bytes(), before)
    };
    for (lines, want) in cases {
        let text = format!("[submodule \"a\"]\n\t{lines}");
        assert_eq!(check(&text, None), want, "{text}");
    }
    for name in ["-a", "../a", "a/../../b", "a\\\\..\\\\b", ""] {
        let text = format!("[submodule \"{name}\"]\n\tpath = a\n");
        assert!(!check(&text, None), "{text}");
    }
    let old = "[submodule \"a\"]\n\tupdate = !mine\n";
    assert!(check(old, Some(old.as_bytes())));
}

#[test]
fn links_lead_to_worktrees_and_submodules_only() {
    let cases = [
        ("gitdir: ../.git/modules/sub\n", true),
        ("gitdir: /home/me/p/.git/worktrees/wt\n", true),
        ("gitdir: /p/.git/worktrees/wt/modules/sub", true),
        ("gitdir: ../../.git/modules/a/b/modules/c\r\n", true),
        ("gitdir: /srv/repo.git\n", false),
        ("gitdir: .git\n", false),
        ("gitdir: evil\n", false),
        ("gitdir: .git/modules\n", false),
        ("gitdir: .git/modules/\n", false),
        ("gitdir: .git/modules/../../evil\n", false),
        ("gitdir: .git/modules/./a\n", false),
        ("gitdir: .git/modules/a/objects/ab\n", false),
        ("gitdir: .git/modules/a/.git\n", false),
        ("gitdir: .git/worktrees\n", false),
        ("gitdir: .git/worktrees/..\n", false),
        ("gitdir: .git/worktrees/a/b\n", false),
        ("gitdir: .git/worktrees/a/modules\n", false),
        ("gitdir: x.git/modules/a\n", false),
        ("gitdir: a\n.git/modules/b\n", false),
        ("gitdir:.git/modules/a\n", false),
        ("  gitdir: .git/modules/a\n", false),
        ("", false),
        ("gitdir: .git/modules/a\0\n", false),
    ];
    for (text, want) in cases {
        let got = is_harmless(Content::GitLink, &path("sub/.git"), text.as_bytes(), None);
        assert_eq!(got, want, "{text:?}");
    }
    let cases = [
        (".git/worktrees/w/commondir", "../..\n", true),
        ("a/.git/worktrees/w/commondir", "../..", true),
        (".git/modules/s/worktrees/w/commondir", "../..\n", true),
        (".git/worktrees/w/commondir", "../../..\n", false),
        (".git/worktrees/w/commondir", "../../x\n", false),
        (".git/worktrees/w/commondir", "/evil\n", false),
        (".git/worktrees/w/commondir", " ../..\n", false),
        (".git/commondir", "../..\n", false),
        ("worktrees/.git/commondir", "../..\n", false),
        (".git/x/worktrees/w/commondir", "../..\n", false),
        (".git/modules/worktrees/w/commondir", "../..\n", false),
        (".git/modules/s/commondir", "../..\n", false),
        ("evil/worktrees/w/commondir", "../..\n", false),
    ];
    for (file, text, want) in cases {
        let got = is_harmless(Content::CommonDir, &path(file), text.as_bytes(), None);
        assert_eq!(got, want, "{file}: {text:?}");
    }
}

#[test]
fn what_is_unfinished_goes_on_without_commands() {
    let todo = ".git/rebase-merge/git-rebase-todo";
    let (strategy, opts) = (".git/rebase-merge/strategy", ".git/sequencer/opts");
    let cases = [
        (
            todo,
            "pick 1f0b3ca a\nfixup 58aa b\n# exec in a comment\nupdate-ref refs/heads/x\n",
            true,
        ),
        (todo, "pick 1f0b3ca exec the plan\n", true),
        (todo, "pick 1f0b3ca a\nexec ./evil\n", false),
        (todo, " \tx ./evil\r\n", false),
        (todo, "exec\t./evil", false),
        (strategy, "ort\n", true),
        (strategy, "../../evil\n", false),
        (opts, "[options]\n\tno-commit = true\n\tstrategy = ort\n", true),
        (opts, "[options]\n\tstrategy = ../../evil\n", false),
        (opts, "[options\n", false),
    ];
    for (file, text, want) in cases {
        let got = is_harmless(Content::Unfinished, &path(file), text.as_bytes(), None);
        assert_eq!(got, want, "{file}: {text:?}");
    }
    assert!(is_harmless(Content::Unfinished, &path(todo), b"x a\n", Some(b"x a\n")));
}

#[test]
fn directories_of_hooks_and_included_files_are_named() {
    let cases: [(&str, &[&str]); 6] = [
        (INIT, &[]),
        ("[core]\n\thooksPath = .husky/_\n", &[".husky/_"]),
        ("[core]\nHOOKSPATH=\"~/my hooks\"\n[include]\npath=../x\n", &["~/my hooks", "../x"]),
        ("[includeIf \"gitdir:~/w\"]\n\tpath = w.inc\n", &["w.inc"]),
        ("[core \"x\"]\n\thooksPath = no\n[core]\n\thooksPath\n", &[]),
        ("[core]\n\thooksPath = a\n[broken\n", &["a"]),
    ];
    for (text, want) in cases {
        assert_eq!(hooks_dirs(text.as_bytes()), want, "{text}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_judged(
        now in prop::collection::vec(any::<u8>(), 0..100),
        before in prop::option::of(prop::collection::vec(any::<u8>(), 0..100)),
        file in "(\\.git|modules|worktrees|hooks|config|commondir|a)(/(\\.git|modules|worktrees|hooks|config|commondir|a)){0,5}",
    ) {
        use Content::*;
        let file = path(&file);
        for content in [GitConfig, GitModules, GitAttributes, GitLink, CommonDir, Unfinished] {
            let _ = is_harmless(content, &file, &now, before.as_deref());
        }
        let guards = defaults();
        for is_dir in [false, true] {
            let _ = (guards.find(&file, is_dir), guards.find_in_bare(&file, is_dir));
        }
        let _ = (guards.find_link(&file), hooks_dirs(&now));
    }

    #[test]
    fn what_was_there_before_may_stay(
        text in "(\\[[a-c]+( \"[a-c]\")?\\]\n?|[a-c]+ = [a-c!]*\n){0,12}",
    ) {
        let file = path(".git/config");
        let same = is_harmless(Content::GitConfig, &file, text.as_bytes(), Some(text.as_bytes()));
        prop_assert_eq!(same, config_text::parse(text.as_bytes()).is_ok());
    }
}

#[test]
fn content_of_a_clone_may_stay_unless_it_takes_effect_where_the_user_works() {
    let mut guards = Guards::default();
    guards.set("*.key", Guard::Ask, At::flag("test"));
    let guards = CommandGuards::of(&guards, Caller::Agent);
    let cases = [
        ("x/.vscode/tasks.json", Some(1)),
        ("x/y/.github/workflows/ci.yml", Some(2)),
        // The outermost name counts: a work tree below it is no clone.
        (".vscode/x/.idea/y", Some(0)),
        ("x/.devcontainer/.vscode/y", Some(1)),
        ("x/.zed/settings.json", None),
        ("x/.Claude/Skills/a/SKILL.md", None),
        ("x/.claude/settings.json", Some(1)),
        // The project's own patterns.
        ("x/a.key", None),
        ("x/.vscode/a.key", None),
    ];
    for (text, want) in cases {
        let Planted::Listed(listed) = guards.find(&path(text), false) else { panic!("{text}") };
        assert_eq!(listed.clone_depth, want, "{text}");
    }
    // A link can stand for all that could be below it.
    let Planted::Listed(listed) = guards.find_link(&path("x/.claude")) else { panic!() };
    assert_eq!(listed.clone_depth, None);
}
