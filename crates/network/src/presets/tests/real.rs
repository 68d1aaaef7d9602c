//! The programs that this machine has, in a home directory of their own and
//! without a network.

use super::Stage;

#[test]
fn installed_programs_say_where_they_go() {
    let managers: [(&str, &[&str]); 9] = [
        ("python", &["pip3", "pip", "uv"]),
        ("node", &["npm", "pnpm"]),
        ("rust", &["cargo"]),
        ("go", &["go"]),
        ("java", &["mvn", "gradle"]),
        ("ruby", &["gem"]),
        ("php", &["composer"]),
        ("dart", &["dart"]),
        ("dotnet", &["dotnet", "nuget"]),
    ];
    let mut stage = Stage::new();
    let path = std::env::var_os("PATH").unwrap_or_default();
    stage.machine.path = std::env::split_paths(&path).collect();
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from).unwrap_or_default();
    // What starts other programs has to find them.
    for (name, below) in [("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv"), ("NVM_DIR", ".nvm")]
    {
        let place = std::env::var_os(name).map_or_else(|| home.join(below), Into::into);
        if place.is_dir() {
            stage.machine.env.insert(name.to_owned(), place.to_string_lossy().into_owned());
        }
    }
    let is_there = |program: &&str| {
        std::env::split_paths(&path).any(|dir| dir.is_absolute() && dir.join(program).is_file())
    };
    for (preset, programs) in managers {
        let there: Vec<&&str> = programs.iter().filter(|program| is_there(program)).collect();
        if there.is_empty() {
            println!("not tried, because none of its programs is installed: {preset}");
            continue;
        }
        let found = stage.find(preset);
        println!("{preset}: {:?} {:?}", stage.shown(&found), found.warnings);
        if found.warnings.iter().any(|warning| warning.contains("it took longer than")) {
            println!("not tried, because the machine is too busy: {preset}");
            continue;
        }
        assert!(!found.hosts.is_empty(), "{preset}, with {there:?}: {:?}", found.warnings);
    }
}
