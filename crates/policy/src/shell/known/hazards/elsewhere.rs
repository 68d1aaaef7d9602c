//! Options by which a program works in another directory, or takes its rules from
//! another file, than the line says: `make -C vendor/x test` is not `make test`.
//!
//! Every program here takes its work from the directory that it starts in, or
//! has such an option.

use super::What::{FlagBegins, Flags, Globals, Script, SubFlags};
use super::{ELSEWHERE, OTHER_RULES, Row};

pub(super) static TABLE: &[Row] = &[
    // Repositories.
    ("git", Globals("-C --bare"), ELSEWHERE),
    ("hg", Flags("-R --repository --cwd"), ELSEWHERE),
    ("jj", Flags("-R --repository"), ELSEWHERE),
    ("gh glab", Flags("-R --repo"), "works on another repository"),
    // Builds.
    ("make gmake bmake pmake", Flags("-C"), ELSEWHERE),
    ("ninja samu", Flags("-C"), ELSEWHERE),
    ("meson", Flags("-C"), ELSEWHERE),
    (
        "scons",
        Flags("-C --directory -f --file --makefile --sconstruct --site-dir -u -D -U"),
        ELSEWHERE,
    ),
    ("waf", Flags("-t --top -o --out"), ELSEWHERE),
    ("xmake", Flags("-P --project -F --file"), ELSEWHERE),
    ("cmake", FlagBegins("-S -B -H -build -install -open"), ELSEWHERE),
    ("ctest", Flags("--test-dir --build-and-test"), ELSEWHERE),
    ("ant", Flags("-f -file -buildfile -find -s"), OTHER_RULES),
    ("mvn mvnw", Flags("-f --file"), ELSEWHERE),
    ("gradle gradlew", Flags("-p --project-dir -b --build-file --include-build"), ELSEWHERE),
    ("bazel bazelisk", Flags("--package_path --workspace_directory"), ELSEWHERE),
    // Runners of a project's own tasks.
    ("just", Flags("-d --working-directory -g --global-justfile --justfile-name"), ELSEWHERE),
    ("just", Script("", "", |recipe| recipe.contains('/')), ELSEWHERE),
    ("task go-task", Flags("-d --dir -g --global"), ELSEWHERE),
    ("rake", Flags("-R --rakelibdir -g --system"), OTHER_RULES),
    ("tox", Flags("--conf --root --workdir --work-dir"), ELSEWHERE),
    ("nox", Flags("--noxfile --envdir"), OTHER_RULES),
    ("invoke inv fab", Flags("-r --search-root -c --collection -f --config"), ELSEWHERE),
    ("pre-commit", Flags("-c --config"), OTHER_RULES),
    // Languages and their packages.
    (
        "npm pnpm yarn bun",
        Flags(
            "--prefix -C --dir --cwd -w --workspace --workspaces --workspace-root --filter --filter-prod -F -r --recursive --modules-folder --lockfile-dir --virtual-store-dir",
        ),
        ELSEWHERE,
    ),
    ("deno", Flags("-c --config --cwd --import-map"), ELSEWHERE),
    ("deno", SubFlags("task", "-f --filter -r --recursive"), ELSEWHERE),
    ("cargo", Flags("-C --manifest-path --target-dir --lockfile-path"), ELSEWHERE),
    ("go", Flags("-C"), ELSEWHERE),
    ("uv", Flags("--directory --project --config-file"), ELSEWHERE),
    ("poetry", Flags("-C --directory -P --project"), ELSEWHERE),
    ("pdm", Flags("-p --project -c --config -g --global"), ELSEWHERE),
    ("rye", Flags("--pyproject"), ELSEWHERE),
    ("hatch", Flags("-p --project --config --data-dir"), ELSEWHERE),
    ("pixi", Flags("--manifest-path -m"), ELSEWHERE),
    ("conda mamba micromamba", Flags("-p --prefix -n --name"), ELSEWHERE),
    ("composer", Flags("-d --working-dir"), ELSEWHERE),
    ("bundle bundler", Flags("--gemfile"), OTHER_RULES),
    ("ruby", Flags("-C"), ELSEWHERE),
    ("dotnet", Flags("--project --file --solution"), ELSEWHERE),
    ("swift", Flags("--package-path -C --chdir"), ELSEWHERE),
    ("zig", Flags("--build-file"), OTHER_RULES),
    ("dub", Flags("--root"), ELSEWHERE),
    ("cabal", Flags("--project-dir --project-file --config-file"), ELSEWHERE),
    ("stack", Flags("--stack-yaml --work-dir"), ELSEWHERE),
    ("dart flutter", Flags("-C --directory"), ELSEWHERE),
    ("terraform tofu", Flags("-chdir"), ELSEWHERE),
    // Checks and tests.
    ("pytest py.test", Flags("--config-file"), OTHER_RULES),
    ("jest", Flags("--rootDir --projects --roots"), ELSEWHERE),
    ("vitest vite", Flags("-r --root --dir -c --config --project --workspace"), ELSEWHERE),
    ("tsc", Flags("-p --project -b --build"), ELSEWHERE),
    // Archives.
    ("tar bsdtar", Flags("-C --directory"), ELSEWHERE),
    // Wrappers that a rule has to name.
    ("sudo", Flags("-D --chdir -R --chroot"), ELSEWHERE),
    ("unshare", Flags("-w --wd -R --root"), ELSEWHERE),
];
