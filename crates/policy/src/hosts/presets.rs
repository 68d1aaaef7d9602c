//! Package managers whose hosts can be allowed by name. Which hosts those are is
//! known to the machine, not to this crate.

/// The presets, by the name that stands for all programs of a language.
pub const PRESETS: [&str; 9] =
    ["python", "node", "rust", "go", "java", "ruby", "php", "dart", "dotnet"];

/// Programs, and the preset that each is part of.
pub const ALIASES: [(&str, &str); 15] = [
    ("pip", "python"),
    ("uv", "python"),
    ("pypi", "python"),
    ("npm", "node"),
    ("yarn", "node"),
    ("pnpm", "node"),
    ("bun", "node"),
    ("cargo", "rust"),
    ("maven", "java"),
    ("gradle", "java"),
    ("gem", "ruby"),
    ("bundler", "ruby"),
    ("composer", "php"),
    ("pub", "dart"),
    ("nuget", "dotnet"),
];

/// Returns the preset of a name, its own or a program's.
pub fn preset(name: &str) -> Option<&'static str> {
    let own = PRESETS.into_iter().find(|preset| *preset == name);
    let alias = || ALIASES.into_iter().find(|(alias, _)| *alias == name);
    own.or_else(|| alias().map(|(_, preset)| preset))
}
