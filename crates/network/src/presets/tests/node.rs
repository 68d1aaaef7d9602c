use super::{Site, Stage, env, file, holds};

const NPM: &str = "echo '{'
echo '  \"globalconfig\": \"/usr/etc/npmrc\",'
echo '  \"registry\": \"https://npm.test/\",'
echo '  \"@corp:registry\": \"https://corp.test/\"'
echo '}'
echo 'npm warn see https://docs.test/' >&2";
const PNPM: &str = "echo https://pnpm.test/";
const OLD_YARN: &str = "[ \"$3\" = registry ] && echo https://yarn.test || echo undefined";
const NEW_YARN: &str =
    "[ \"$3\" = npmRegistryServer ] && echo https://berry.test || echo 'Usage Error: https://docs'";

#[test]
fn without_settings_the_programs_say_where_they_go() {
    let stage = Stage::new().program("npm", NPM).program("pnpm", PNPM).program("yarn", OLD_YARN);
    let found = stage.find("node");
    let hosts = [
        "corp.test:443 npm's own default",
        "npm.test:443 npm's own default",
        "pnpm.test:443 pnpm's own default",
        "yarn.test:443 yarn's own default",
    ];
    assert_eq!(stage.shown(&found), hosts);
    assert_eq!((env(&found), found.files.clone()), (Vec::new(), Vec::new()));
    let stage = Stage::new().program("yarn", NEW_YARN);
    assert_eq!(stage.hosts("node"), ["berry.test:443 yarn's own default"]);
}

#[test]
fn npm_is_asked_without_the_users_file_and_without_a_network() {
    let script = "[ \"$npm_config_userconfig\" = /dev/null ] || exit 1
[ \"$HTTPS_PROXY$https_proxy\" = http://127.0.0.1:9http://127.0.0.1:9 ] || exit 1
[ -z \"$NODE_OPTIONS\" ] || exit 1
echo '\"registry\": \"https://npm.test/\"'";
    let stage = Stage::new().program("npm", script).var("NODE_OPTIONS", "--require /tmp/x");
    assert_eq!(stage.hosts("node"), ["npm.test:443 npm's own default"]);
}

#[test]
fn a_mirror_in_npms_file_holds_for_npm_pnpm_and_the_first_yarn() {
    let npmrc = "; mine\nregistry=https://mirror.test:8443/npm/\n\
                 @acme:registry = https://${ACME}/\n\
                 @none:registry=https://${NONE}/\n//mirror.test:8443/npm/:_authToken=s3cret\n";
    let stage = Stage::new()
        .program("npm", NPM)
        .program("pnpm", PNPM)
        .program("yarn", OLD_YARN)
        .home(".npmrc", npmrc)
        .var("ACME", "acme.test");
    let found = stage.find("node");
    let hosts = ["acme.test:443 ~/.npmrc:3", "mirror.test:8443 ~/.npmrc:2"];
    assert_eq!(stage.shown(&found), hosts);
    let variables = [
        "npm_config_registry=https://mirror.test:8443/npm/",
        "pnpm_config_registry=https://mirror.test:8443/npm/",
    ];
    assert_eq!(env(&found), variables);
    assert_eq!(file(&found, ".npmrc"), "@acme:registry=https://acme.test/\n");
    assert!(!holds(&found, "s3cret"), "{found:?}");
    assert!(holds(&found, "has credentials for mirror.test:8443"), "{found:?}");
    // The newer yarn does not read that file.
    let stage = stage.program("yarn", NEW_YARN);
    std::fs::remove_file(stage.dir.path().join("cache/node.json")).expect("cache");
    assert!(stage.hosts("node").contains(&"berry.test:443 yarn's own default".to_owned()));
}

#[test]
fn variables_win_over_files() {
    let stage = Stage::new()
        .home(".npmrc", "registry=https://file.test/\n")
        .var("NPM_CONFIG_REGISTRY", "https://user:hunter2@variable.test/")
        .var("npm_config_@acme:registry", "https://acme.test/");
    let found = stage.find("node");
    let hosts = [
        "acme.test:443 the variable npm_config_@acme:registry",
        "variable.test:443 the variable NPM_CONFIG_REGISTRY",
    ];
    assert_eq!(stage.shown(&found), hosts);
    assert!(env(&found).contains(&"npm_config_registry=https://variable.test/".to_owned()));
    assert!(!holds(&found, "hunter2@"), "{found:?}");
}

#[test]
fn each_program_has_files_of_its_own() {
    let yaml = "npmRegistryServer: \"https://berry.test\"\nnpmScopes:\n  acme:\n    \
                npmRegistryServer: ${ACME:-https://scope.test}\n    npmAuthToken: s3cret\n";
    let stage = Stage::new()
        .program("yarn", NEW_YARN)
        .home(
            ".yarnrc",
            "# x\nregistry \"https://old.test/\"\n\"@a:registry\" https://olda.test/\n",
        )
        .home(".yarnrc.yml", yaml)
        .home(".config/pnpm/config.yaml", "registries:\n  default: https://pnpm.test/\n");
    let found = stage.find("node");
    let hosts = [
        "berry.test:443 ~/.yarnrc.yml:1",
        "old.test:443 ~/.yarnrc:2",
        "olda.test:443 ~/.yarnrc:3",
        "pnpm.test:443 ~/.config/pnpm/config.yaml:2",
        "scope.test:443 ~/.yarnrc.yml:4",
    ];
    assert_eq!(stage.shown(&found), hosts);
    let variables = [
        "YARN_NPM_REGISTRY_SERVER=https://berry.test",
        "YARN_REGISTRY=https://old.test/",
        "pnpm_config_registry=https://pnpm.test/",
    ];
    assert_eq!(env(&found), variables);
    let text = "npmScopes:\n  \"acme\":\n    npmRegistryServer: \"https://scope.test\"\n";
    assert_eq!(file(&found, ".yarnrc.yml"), text);
    assert_eq!(file(&found, ".yarnrc"), "\"@a:registry\" \"https://olda.test/\"\n");
    assert!(!holds(&found, "s3cret"), "{found:?}");
}

#[test]
fn a_scope_cannot_write_lines_of_its_own() {
    let npmrc = "@a b:registry=https://a.test/\n@:registry=https://b.test/\n\
                 @a\"b:registry=https://c.test/\n";
    let stage = Stage::new().home(".npmrc", npmrc);
    let found = stage.find("node");
    assert_eq!((found.hosts.len(), found.files.len()), (0, 0), "{found:?}");
}

#[test]
fn the_registry_names_the_hosts_of_its_packages() {
    let body = r#"{"versions":{"1.0.0":{"dist":{"tarball":"https://cdn.test/npm.tgz"}},
                "2":{"dist":{"tarb"#;
    let site = Site::pages(&[("/r/npm", body)]);
    let stage = Stage::new().var("npm_config_registry", &format!("{}/r/", site.url())).online();
    let hosts = stage.hosts("node");
    assert!(hosts.iter().any(|host| host.starts_with("cdn.test:443 the links of")), "{hosts:?}");
    assert!(site.asked().concat().contains("application/vnd.npm.install-v1+json"));
}

#[test]
fn without_programs_there_is_a_warning() {
    let found = Stage::new().find("node");
    assert_eq!(found.hosts, []);
    assert!(holds(&found, "none of npm, yarn and pnpm is installed"), "{found:?}");
}
