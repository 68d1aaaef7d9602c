"""Test suites and tools that must do inside what they do outside.

A case has a name, a kind (suite or tool), `needs` (program or path: Debian package), `setup` (run
outside, with the network), `command` (run outside and inside), `version`, and where its
output differs between two runs outside, `noise` or `counts`. `short` cases run in CI.
"""

PREFACE = """
# Compatibility

Test suites, tools and git operations, outside and inside the sandbox. Each was set up
outside, from its package or repository. Its command then ran twice at the same path, from
the same files: outside, and with `zonekeep run --rw .`, without network (`npm ci` and "pip with
the network": with `--net`); the git operations also as lines of the agent's `shell`.

- **equal**: the same exit status and the same output, without times, addresses and names of
  temporary files. For a suite: the same totals and the same failed tests. Tests that fail
  outside as well, need the network or take minutes to build are left out;
  `scripts/compat.d/cases.py` names them, and pins requirements where the newest ones fail.
- **differs**: listed below with the reason.
- **not tried**: its set-up or its command fails outside as well.
- **user**: `root`, or an ordinary user without capabilities. Commands have no
  capabilities inside, whoever starts them.

`scripts/compat` generates this page from results that it keeps, which can come from several
runs and builds of the version. The directory CLONES has clones of the public
repositories as OWNER+NAME/repo; Debian packages that are missing are installed by root:

```text
cargo build --release -p zonekeep-cli
scripts/compat --write --keep RESULTS --repositories CLONES --zonekeep target/release/zonekeep
```

`scripts/compat --short` is a step of `scripts/test`: the history that a script makes and
four tools.
"""

# Reasons of differences that are known.
KNOWN = {
    "httpx": "two tests read `tests/fixtures/.netrc`; the sandbox hides files that can hold passwords (`sandbox.allow_sensitive` shows them)",
}

PYTEST = r"\d+ (?:passed|failed|skipped|xfailed|xpassed|errors?|deselected|warnings?)\b|^(?:FAILED|ERROR) \S+"
CARGO = r"(?<=^test result: )\w+\. \d+ passed; \d+ failed; \d+ ignored|^test \S+ \.\.\. FAILED"
GO = r"^(?:ok|FAIL|---\s+FAIL:?)\s+\S+"
MOCHA = r"^\s*\d+ (?:passing|failing|pending)"
VITEST = r"^\s*Tests?(?: Files)?\s+.*\d+ (?:passed|failed).*"
TAP = r"^(?:Suites|Asserts):.*\d"
CTEST = r"^\d+% tests passed.*|^Total Test.*?:|\d+ - \S+ \(Failed\)"


def python_suite(name, package, requirements, arguments, before="", **more):
    """A suite in a source distribution, with its requirements in a virtual environment."""
    setup = f"""
        python3 -m venv venv
        venv/bin/pip -q install {requirements}
        venv/bin/pip -q download --no-deps --no-binary {package} -d sdist {package}
        mkdir src && tar -xf sdist/*.tar.gz -C src --strip-components=1
        (cd src && ../venv/bin/pip -q install --no-deps -e .)"""
    return dict(
        name=name, kind="suite", needs={"python3": "python3-venv"}, setup=setup,
        command=f"{before}cd src && ../venv/bin/python -m pytest -q -rfE {arguments}",
        compare="counts", counts=PYTEST, version=f"venv/bin/pip show {package} | sed -n s/^Version://p",
        **more,
    )


def crate_suite(name, package, version, **more):
    setup = f"""
        cargo init -q --name fetch fetch && cd fetch && cargo add -q {package}@={version}
        cargo vendor -q vendor >/dev/null && cp -r vendor/{package} ../src && cd .. && rm -rf fetch
        rm -f src/.cargo-checksum.json && cd src && cargo fetch -q && cargo test -q --offline --no-run"""
    return dict(
        name=name, kind="suite", needs={"cargo": "cargo"}, setup=setup,
        command="cd src && cargo test --offline 2>&1", compare="counts", counts=CARGO,
        version=f"echo {version}", **more,
    )


# Reads the index of Debian's source packages without a change of the system's settings.
SOURCES = """lists=$COMPAT_CACHE/sources
        options="-o Dir::Etc::sourcelist=$lists/list -o Dir::Etc::sourceparts=$lists/parts -o Dir::State::lists=$lists/state"
        if ! [ -e $lists/done ]; then
            mkdir -p $lists/parts $lists/state/partial; sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >$lists/list 2>/dev/null || true
            sed 's/^Types: .*/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >$lists/parts/debian.sources 2>/dev/null || true
            apt-get -qq $options update && touch $lists/done
        fi"""


def source_suite(name, package, build, command, pattern, needs=None, **more):
    """A suite in a Debian source package."""
    setup = f"""
        {SOURCES}
        mkdir fetch && cd fetch && apt-get $options source -qq --download-only {package} >/dev/null
        dpkg-source -x --no-check *.dsc ../src >/dev/null; cd .. && rm -rf fetch && cd src
        {build}"""
    return dict(
        name=name, kind="suite", needs={"dpkg-source": "dpkg-dev", **(needs or {})}, setup=setup,
        command=f"cd src && {command}", compare="counts", counts=pattern,
        version="sed -n '1s/.*(\\([0-9]*:\\)*\\(.*\\)).*/\\2/p' src/debian/changelog", **more,
    )


def repository_suite(name, repository, tag, build, command, pattern, needs=None, **more):
    """A suite that is in no package: a version of a public repository, from --repositories."""
    source = repository.replace("/", "+")
    setup = f"""git clone -q --depth 1 --branch {tag} file://$COMPAT_REPOSITORIES/{source}/repo src
        cd src
        {build}"""
    return dict(
        name=name, kind="suite", needs={"git": "git", **(needs or {})}, repository=repository, setup=setup,
        command=f"cd src && {command}", compare="counts", counts=pattern, version=f"echo {tag}", **more,
    )


# A module without requirements.
GO_MODULE = "[ -f go.mod ] || go mod init example.org/module"

NPM_INSTALL = "npm install --silent --no-audit --no-fund --ignore-scripts >/dev/null"

SUITES = [
    python_suite("flask", "flask", "flask 'pytest<9' 'werkzeug<3.1.4' python-dotenv asgiref", "tests"),
    python_suite("click", "click", "pytest", "tests"),
    # The others need an address that swallows packets.
    python_suite("requests", "requests", "requests pytest pytest-httpbin httpbin pytest-mock trustme PySocks",
                 "tests -k 'not test_connect_timeout and not test_total_timeout_connect'"),
    # The versions that its own requirements name. The others need the network, or fail with these versions.
    python_suite("httpx", "httpx", "'httpx[http2,socks,cli,brotli,zstd]' pytest==8.3.4 trio==0.27.0 anyio trustme "
                 "uvicorn==0.32.1 chardet==5.2.0 click==8.1.7 'rich<14'", "tests -k 'not proxy_close and not (test_write_timeout and trio)'"),
    # Root reads every file outside, and is no root inside. Some tests need a directory for temporary
    # files that no other user has written to.
    python_suite("pytest", "pytest", "pytest hypothesis attrs pygments xmlschema", "testing -k 'not pexpect'",
                 "mkdir -p tmp && export TMPDIR=$PWD/tmp && ", ordinary=True),
    python_suite("jinja2", "jinja2", "pytest trio markupsafe", "tests"),
    python_suite("itsdangerous", "itsdangerous", "pytest freezegun", "tests"),
    # With CI set, no example has a deadline. test_wrapped_annotation fails with these versions.
    python_suite("attrs", "attrs", "attrs pytest hypothesis cloudpickle",
                 "tests -k 'not mypy and not pyright and not test_wrapped_annotation'", flags=["--env", "CI=true"]),
    repository_suite("log", "rust-lang/log", "0.4.33", "cargo test -q --no-run", "cargo test --offline 2>&1", CARGO, {"cargo": "cargo"}),
    crate_suite("fd", "fd-find", "10.2.0"),
    crate_suite("itoa", "itoa", "1.0.11"),
    source_suite("mux", "golang-github-gorilla-mux", GO_MODULE, "go test ./... 2>&1", GO, {"go": "golang-go"}),
    source_suite("uuid", "golang-github-google-uuid", GO_MODULE, "go test ./... 2>&1", GO, {"go": "golang-go"}),
    source_suite("websocket", "golang-github-gorilla-websocket", GO_MODULE, "go test ./... 2>&1", GO, {"go": "golang-go"}),
    source_suite("mapstructure", "golang-github-mitchellh-mapstructure", GO_MODULE, "go test ./... 2>&1", GO, {"go": "golang-go"}),
    # The tests that build fast; format-test and chrono-test take minutes each.
    repository_suite("fmt", "fmtlib/fmt", "11.2.0",
                     "cmake -S . -B build -G Ninja -DFMT_DOC=OFF -DCMAKE_BUILD_TYPE=Debug >/dev/null && ninja -C build "
                     "args-test base-test assert-test color-test gtest-extra-test os-test ostream-test printf-test >/dev/null",
                     "ctest --test-dir build -R '^(args|base|assert|color|gtest-extra|os|ostream|printf)-test$'", CTEST,
                     {"cmake": "cmake", "ninja": "ninja-build", "g++": "g++"}),
    repository_suite("express", "expressjs/express", "v5.2.1", NPM_INSTALL,
                     "npx --no-install mocha --require test/support/env --reporter dot --check-leaks test/ test/acceptance/",
                     MOCHA, {"npm": "npm"}),
    dict(
        name="fastify", kind="suite", needs={"npm": "npm"},
        setup=f"""npm pack --silent fastify@4 >/dev/null; mkdir src; tar -xf fastify-*.tgz -C src --strip-components=1
            cd src && {NPM_INSTALL}""",
        command="""cd src && npx --no-install tap --no-coverage -R terse -J test/*.test.js test/internals/*.test.js >../log 2>&1
            status=$?; tail -n 3 ../log; exit $status""",
        compare="counts", counts=TAP, version="sed -n 's/.*\"version\": \"\\(.*\\)\".*/\\1/p' src/package.json",
    ),
    repository_suite("ufo", "unjs/ufo", "v1.6.3", NPM_INSTALL, "npx --no-install vitest run 2>&1", VITEST, {"npm": "npm"}),
    source_suite("zlib", "zlib", "./configure >/dev/null && make -j2 >/dev/null", "make test 2>&1", r"\*\*\* .* \*\*\*",
                 {"make": "make", "gcc": "gcc"}),
    source_suite("cjson", "cjson", "cmake -S . -B build -G Ninja >/dev/null && ninja -C build >/dev/null",
                 "ctest --test-dir build", CTEST, {"cmake": "cmake", "ninja": "ninja-build", "gcc": "gcc"}),
]


def tool(name, package, command, version=None, **more):
    """A program of a Debian package, by its name or PROGRAM=PACKAGE."""
    pairs = [pair.partition("=") for pair in package.split()]
    needs = {program: given or program for program, _, given in pairs}
    return dict(name=name, kind="tool", needs=needs, command=command,
                version=version or f"{pairs[0][0]} --version 2>&1", **more)


FIBONACCI_C = "#include <stdio.h>\nint f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\nint main(void) { printf(\"%d\\n\", f(24)); return 0; }\n"
LOCAL_PAGE = "<!doctype html><title>local</title><p id=x></p><script>document.getElementById('x').textContent = [1, 2, 3].map(n => n * n).join(' ')</script>\n"

# Debian's repository of what Maven needs.
MAVEN_PLUGINS = " ".join(f"/usr/share/maven-repo/org/apache/maven/plugins/maven-{name}-plugin={package}" for name, package in [
    ("compiler", "libmaven-compiler-plugin-java"), ("resources", "libmaven-resources-plugin-java"),
    ("jar", "libmaven-jar-plugin-java"), ("surefire", "libsurefire-java")])

TOOLS = [
    # Compilers and build tools.
    tool("gcc", "gcc", "gcc -O2 -o f f.c && ./f", files={"f.c": FIBONACCI_C}),
    tool("g++", "g++", "g++ -std=c++17 -pthread -o t t.cc && ./t", files={"t.cc": (
        "#include <iostream>\n#include <thread>\n#include <atomic>\n#include <vector>\nint main() { std::atomic<int> n{0}; "
        "std::vector<std::thread> all; for (int i = 0; i < 8; i++) all.emplace_back([&] { n += 5; }); "
        "for (auto &t : all) t.join(); std::cout << n << std::endl; }\n")}),
    tool("clang", "clang", "clang -g -O1 -fPIE -o f f.c && ./f", files={"f.c": FIBONACCI_C}),
    tool("address and thread sanitizer", "gcc", "gcc -g -fsanitize=address,undefined -o f f.c && ASAN_OPTIONS=detect_leaks=0 ./f && gcc -fsanitize=thread -o f f.c && ./f",
         files={"f.c": FIBONACCI_C}),
    tool("gfortran", "gfortran", "gfortran -o t t.f90 && ./t",
         files={"t.f90": "program t\n print *, sum([(i * i, i = 1, 10)])\nend program t\n"}),
    tool("nasm and ld", "nasm ld=binutils", "nasm -f elf64 t.asm && ld -o t t.o && ./t", files={"t.asm": (
        "global _start\nsection .text\n_start: mov rax, 1\n mov rdi, 1\n mov rsi, m\n mov rdx, 6\n syscall\n mov rax, 60\n"
        " xor rdi, rdi\n syscall\nsection .data\nm: db \"hello\", 10\n")}),
    tool("make", "make gcc", "make -j4 -s && ./f", files={"f.c": FIBONACCI_C, "Makefile": "f: f.o\n\t$(CC) -o $@ $^\n"}),
    tool("CMake and Ninja", "cmake ninja=ninja-build gcc",
         "cmake -S . -B build -G Ninja >log && ninja -C build >>log && ./build/f && ctest --test-dir build | grep passed",
         files={"f.c": FIBONACCI_C, "CMakeLists.txt": (
             "cmake_minimum_required(VERSION 3.13)\nproject(f C)\nenable_testing()\nadd_executable(f f.c)\nadd_test(NAME f COMMAND f)\n")}),
    tool("Meson", "meson ninja=ninja-build gcc", "meson setup build >log && meson test -C build | grep -E '^(Ok|Fail)'",
         files={"f.c": FIBONACCI_C, "meson.build": "project('f', 'c')\ntest('f', executable('f', 'f.c'))\n"}),
    tool("autoconf and automake", "autoreconf=autoconf automake make gcc",
         "autoreconf -i >log 2>&1 && ./configure >>log && make -s 2>>log && ./f", "autoconf --version",
         files={"f.c": FIBONACCI_C, "configure.ac": "AC_INIT([f], [1])\nAM_INIT_AUTOMAKE([foreign])\nAC_PROG_CC\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n",
                "Makefile.am": "bin_PROGRAMS = f\nf_SOURCES = f.c\n"}),
    tool("bison and flex", "bison flex gcc", "bison -d g.y && flex l.l && gcc -o c g.tab.c lex.yy.c && echo '1 + 2 + 39' | ./c", files={
        "g.y": "%{\n#include <stdio.h>\nint yylex(void); void yyerror(const char *s) { puts(s); }\n%}\n%token N\n%left '+'\n%%\nl: e { printf(\"%d\\n\", $1); };\ne: N | e '+' e { $$ = $1 + $3; };\n%%\nint main(void) { return yyparse(); }\n",
        "l.l": "%option noyywrap nounput noinput\n%{\n#include <stdlib.h>\n#include \"g.tab.h\"\n%}\n%%\n[0-9]+ { yylval = atoi(yytext); return N; }\n[+] { return '+'; }\n[ \\n] ;\n"}),
    # Languages and virtual machines.
    tool("Go", "go=golang-go", "go vet . && go test . 2>&1 && go run .", "go version", short=True, files={
        "go.mod": "module example.org/t\n\ngo 1.18\n", "t.go": (
            "package main\n\nimport (\n\t\"fmt\"\n\t\"sync\"\n)\n\nfunc sum(n int) int {\n\tvar lock sync.Mutex\n\tvar all sync.WaitGroup\n\ttotal := 0\n"
            "\tfor i := 0; i <= n; i++ {\n\t\tall.Add(1)\n\t\tgo func(i int) {\n\t\t\tdefer all.Done()\n\t\t\tlock.Lock()\n\t\t\ttotal += i\n\t\t\tlock.Unlock()\n"
            "\t\t}(i)\n\t}\n\tall.Wait()\n\treturn total\n}\n\nfunc main() { fmt.Println(sum(100)) }\n"),
        "t_test.go": "package main\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif sum(10) != 55 {\n\t\tt.Fatal(sum(10))\n\t}\n}\n"}),
    tool("Java", "javac=default-jdk-headless", "javac -d out T.java && java -Xmx256m -cp out T", "javac -version", short=True, files={
        "T.java": ("import java.util.stream.*;\npublic class T {\n  public static void main(String[] a) throws Exception {\n"
                   "    System.out.println(IntStream.rangeClosed(1, 1000).parallel().sum());\n"
                   "    java.nio.file.Path p = java.nio.file.Files.createTempFile(\"t\", \".txt\");\n"
                   "    java.nio.file.Files.writeString(p, \"text\");\n    System.out.println(java.nio.file.Files.readString(p));\n  }\n}\n")}),
    tool("Node.js", "node=nodejs", "node --test t.js | grep -E '^# (tests|pass|fail)'; node -e \"console.log(new Intl.NumberFormat('en').format(12345.6))\"",
         short=True, files={"t.js": (
             "const { test } = require('node:test'); const assert = require('node:assert');\nconst http = require('node:http');\n"
             "const { Worker } = require('node:worker_threads');\n"
             "test('loopback', (t, done) => { const s = http.createServer((q, a) => a.end('hello')).listen(0, '127.0.0.1', () =>\n"
             "  http.get({ port: s.address().port, host: '127.0.0.1' }, a => { let x = ''; a.on('data', d => x += d); a.on('end', () => { s.close(); assert.equal(x, 'hello'); done(); }); })); });\n"
             "test('worker', (t, done) => { new Worker('require(\"worker_threads\").parentPort.postMessage(6 * 7)', { eval: true }).on('message', m => { assert.equal(m, 42); done(); }); });\n")}),
    tool("Python with a virtual environment", "python3=python3-venv", "venv/bin/python -W ignore -m unittest -q 2>&1 && venv/bin/python -c 'import sys, ssl, sqlite3; print(sys.prefix != sys.base_prefix)'",
         "python3 --version", short=True, setup="python3 -m venv --without-pip venv", files={"test_t.py": (
             "import multiprocessing, socket, subprocess, sys, tempfile, threading, unittest\n\n\ndef square(n):\n    return n * n\n\n\nclass T(unittest.TestCase):\n"
             "    def test_pool(self):\n        with multiprocessing.Pool(2) as pool:\n            self.assertEqual(pool.map(square, [1, 2, 3]), [1, 4, 9])\n\n"
             "    def test_socket(self):\n        server = socket.create_server(('127.0.0.1', 0))\n        client = socket.create_connection(server.getsockname())\n"
             "        server.accept()[0].sendall(b'x')\n        self.assertEqual(client.recv(1), b'x')\n\n"
             "    def test_child(self):\n        with tempfile.TemporaryDirectory() as here:\n            out = subprocess.run([sys.executable, '-c', 'print(7)'], cwd=here, capture_output=True)\n"
             "        self.assertEqual(out.stdout, b'7\\n')\n")}),
    tool("Rust", "cargo", "cargo test -q --offline 2>&1 && cargo run -q --offline",
         setup="cargo init -q --name compat ."),
    tool("Ruby", "ruby", "ruby -rjson -rsocket -e 's = TCPServer.new(\"127.0.0.1\", 0); Thread.new { s.accept.puts \"hi\" }; puts TCPSocket.new(\"127.0.0.1\", s.addr[1]).gets; puts JSON.dump([1, {a: 2}])'"),
    tool("PHP", "php=php-cli", "php -r 'echo json_encode(array_map(fn($n) => $n ** 2, range(1, 5))), PHP_EOL;'"),
    tool("Perl", "perl", "perl -MData::Dumper -e '$Data::Dumper::Sortkeys = 1; print Dumper({a => [1..3]}); my $p = fork; if (!$p) { exit 3 } waitpid $p, 0; print $? >> 8, qq(\\n)'", "perl -e 'printf q(%vd), $^V'"),
    tool("Lua", "lua5.4", "lua5.4 -e 'local t = {} for i = 1, 5 do t[i] = i * i end print(table.concat(t, \" \"))'", "lua5.4 -v"),
    tool("LuaJIT", "luajit", "luajit -e 'local s = 0 for i = 1, 1e7 do s = s + i % 7 end print(s, jit.status())'", "luajit -v"),
    tool("PyPy", "pypy3", "pypy3 -c 'print(sum(i * i % 7 for i in range(3000000)))'", "pypy3 -c 'import platform; print(platform.python_version())'"),
    tool("R", "Rscript=r-base-core", "Rscript -e 'print(summary(lm(dist ~ speed, cars))$r.squared)'", "R --version"),
    tool("SBCL", "sbcl", "sbcl --noinform --eval '(print (loop for i below 100 sum (* i i)))' --quit"),
    tool("Guile", "guile=guile-3.0", "guile --no-auto-compile -c '(display (apply + (map (lambda (x) (* x x)) (iota 10)))) (newline)'"),
    tool("Erlang", "erl=erlang-base", "erl -noshell -eval 'S = self(), [spawn(fun() -> S ! N * N end) || N <- lists:seq(1, 10)], io:format(\"~p~n\", [lists:sum([receive X -> X end || _ <- lists:seq(1, 10)])]), halt().'",
         "erl -noshell -eval 'io:format(\"~s~n\", [erlang:system_info(otp_release)]), halt().'"),
    tool("OCaml", "ocamlfind=ocaml-findlib ocamlopt=ocaml-nox gcc", "ocamlopt -o t t.ml && ./t", "ocamlopt -version",
         files={"t.ml": "let rec f n = if n < 2 then n else f (n - 1) + f (n - 2)\nlet () = print_endline (string_of_int (f 22))\n"}),
    tool("SWI-Prolog", "swipl=swi-prolog-nox", "swipl -g 'numlist(1, 10, L), sum_list(L, S), writeln(S)' -t halt"),
    tool("Tcl", "tclsh=tcl", "echo 'puts [expr {6 * 7}]; puts [exec echo child]' | tclsh", "echo 'puts [info patchlevel]' | tclsh"),
    tool("Deno", "npm", "npx --no-install deno run --allow-read t.ts && npx --no-install deno test -q t_test.ts 2>&1 | grep passed", "npx --no-install deno --version",
         setup="npm install --silent --no-audit --no-fund deno@2",
         files={"t.ts": "const squares: number[] = [1, 2, 3].map((n) => n * n);\nconsole.log(squares.join(' '));\n",
                "t_test.ts": "Deno.test('sum', () => { if (1 + 1 !== 2) throw new Error(); });\n"}),
    tool("Bun", "npm", "npx --no-install bun test 2>&1 | grep -E 'pass|fail'; npx --no-install bun run t.ts", "npx --no-install bun --version",
         setup="npm install --silent --no-audit --no-fund bun@1",
         files={"t.ts": "console.log([1, 2, 3].map((n: number) => n * n).join(' '));\n",
                "t.test.ts": "import { expect, test } from 'bun:test';\ntest('sum', () => expect(1 + 1).toBe(2));\n"}),
    # Databases.
    tool("SQLite", "sqlite3", "sqlite3 t.db 'pragma journal_mode = wal; create table t(a, b); insert into t values(1, 2), (3, 4); select sum(a * b) from t;' && sqlite3 t.db .dump"),
    tool("PostgreSQL", "psql=postgresql-client pg_ctlcluster=postgresql", """
        PATH=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1):$PATH
        initdb -D data -A trust >log && pg_ctl -D data -o "-k $PWD -h ''" -w -l server.log start >>log
        psql -h "$PWD" postgres -Atc 'create table t(a int); insert into t select generate_series(1, 100); select sum(a) from t'
        pg_ctl -D data -m fast stop >>log""", ordinary=True),
    tool("Redis", "redis-server redis-cli=redis-tools", """
        redis-server --port 0 --unixsocket "$PWD/s" --daemonize yes --pidfile "$PWD/pid" --logfile log --dir . >/dev/null
        for i in $(seq 100); do [ -S s ] && break; sleep 0.1; done
        redis-cli -s s set a 41; redis-cli -s s incr a; redis-cli -s s save; redis-cli -s s shutdown nosave; ls dump.rdb"""),
    tool("MariaDB", "mariadbd=mariadb-server mariadb=mariadb-client", """
        mkdir data && mariadb-install-db --no-defaults --datadir="$PWD/data" --auth-root-authentication-method=normal --skip-test-db >log 2>&1
        echo 'create database d; use d; create table t(a int); insert into t values (1), (41); select sum(a) from t;' >t.sql
        mariadbd --no-defaults --datadir="$PWD/data" --socket="$PWD/s" --skip-networking >>log 2>&1 &
        for i in $(seq 300); do [ -S s ] && break; sleep 0.1; done
        mariadb --no-defaults -u root -S s <t.sql; mariadb-admin --no-defaults -u root -S s shutdown; wait""", ordinary=True),
    tool("DuckDB", "python3=python3-venv", "venv/bin/python -c \"import duckdb; print(duckdb.sql('select sum(i) from range(1000) t(i)').fetchall())\"",
         "venv/bin/python -c 'import duckdb; print(duckdb.__version__)'", setup="python3 -m venv venv; venv/bin/pip -q install duckdb"),
    # Browsers and notebooks.
    tool("Chromium, headless", "chromium", "timeout 300 chromium --headless --no-sandbox --disable-gpu --user-data-dir=\"$PWD/profile\" --dump-dom \"file://$PWD/t.html\" 2>/dev/null",
         "chromium --version --no-sandbox 2>/dev/null | grep -o 'Chromium.*'", files={"t.html": LOCAL_PAGE}),
    tool("Firefox, headless", "firefox=firefox-esr", "mkdir profile && timeout 300 firefox --headless --no-remote --profile \"$PWD/profile\" --screenshot \"$PWD/t.png\" \"file://$PWD/t.html\" >/dev/null 2>&1; file t.png 2>/dev/null || head -c 8 t.png | od -c | head -n 1",
         files={"t.html": LOCAL_PAGE}),
    tool("Jupyter notebook", "python3=python3-venv", "venv/bin/jupyter nbconvert --to notebook --execute --output out.ipynb t.ipynb 2>/dev/null && venv/bin/python -c \"import json; print(json.load(open('out.ipynb'))['cells'][0]['outputs'][0]['text'])\"",
         "venv/bin/jupyter nbconvert --version", setup="python3 -m venv venv; venv/bin/pip -q install nbconvert ipykernel",
         files={"t.ipynb": "{\"cells\": [{\"cell_type\": \"code\", \"execution_count\": null, \"id\": \"a\", \"metadata\": {}, \"outputs\": [], \"source\": [\"print(sum(range(10)))\"]}], \"metadata\": {\"kernelspec\": {\"display_name\": \"Python 3\", \"language\": \"python\", \"name\": \"python3\"}}, \"nbformat\": 4, \"nbformat_minor\": 5}\n"}),
    tool("NumPy, Numba", "python3=python3-venv", "venv/bin/python -W ignore t.py", "venv/bin/python -c 'import numba; print(numba.__version__)'",
         setup="python3 -m venv venv; venv/bin/pip -q install numba",
         files={"t.py": "import numba\nimport numpy\n\n\n@numba.njit(cache=True)\ndef total(a):\n    s = 0.0\n    for x in a:\n        s += x\n    return s\n\n\nprint(total(numpy.arange(1000.0)), numpy.linalg.det(numpy.eye(3) * 2))\n"}),
    # Package managers, with what they fetched before.
    tool("pip", "python3=python3-venv", "python3 -m venv v && v/bin/pip -q install --no-index --find-links wheels click && v/bin/python -c 'import click; print(click.__name__)' && v/bin/pip list --format freeze | grep click",
         "python3 -m pip --version", setup="python3 -m pip -q download -d wheels click"),
    tool("uv", "python3=python3-venv", "venv/bin/uv -q venv v && venv/bin/uv -q pip install -p v --no-index --find-links wheels click && v/bin/python -c 'import click; print(click.__name__)'",
         "venv/bin/uv --version", setup="python3 -m venv venv; venv/bin/pip -q install uv; python3 -m pip -q download -d wheels click"),
    tool("npm ci and install", "npm", "npm ci --no-audit --no-fund --silent && ls node_modules | wc -l && node -e \"console.log(require('semver').gt('2.0.0', '1.0.0'))\" && rm -rf node_modules && npm install --silent --no-audit --no-fund && ls node_modules | wc -l && git status --short",
         "npm --version", flags=["--net", "node"], setup="git init -q . && npm init -y >/dev/null; npm install --silent --no-audit --no-fund semver eslint@8 && rm -rf node_modules && echo node_modules >.gitignore"),
    tool("pip with the network", "python3=python3-venv", "python3 -m venv v && v/bin/pip -q install click && v/bin/python -c 'import click; print(click.__name__)'",
         "python3 -m pip --version", flags=["--net", "python"]),
    tool("pnpm", "npm", "PATH=$PWD/tool/node_modules/.bin:$PATH; cd p && pnpm install --offline --frozen-lockfile --store-dir ../store --reporter silent && node -e \"console.log(require('semver').gt('2.0.0', '1.0.0'))\" && rm -rf node_modules && ls",
         "tool/node_modules/.bin/pnpm --version",
         setup="""npm install --silent --no-audit --no-fund --prefix tool pnpm@9; mkdir p; cd p; npm init -y >/dev/null
            PATH=$PWD/../tool/node_modules/.bin:$PATH; pnpm add --store-dir ../store --reporter silent semver eslint@8; rm -rf node_modules"""),
    tool("Yarn", "npm", "node tool/node_modules/yarn/bin/yarn.js install --offline --frozen-lockfile --silent --cache-folder cache && node -e \"console.log(require('semver').gt('2.0.0', '1.0.0'))\"",
         "node tool/node_modules/yarn/bin/yarn.js --version",
         setup="npm init -y >/dev/null; npm install --silent --no-audit --no-fund --prefix tool yarn@1; node tool/node_modules/yarn/bin/yarn.js add --silent --cache-folder cache semver; rm -rf node_modules"),
    tool("create-vite and build", "npm", "node tool/node_modules/create-vite/index.js app --template vanilla >log 2>&1 </dev/null; ls app && cp -r tool/node_modules app/ && cd app && npx --no-install vite build 2>&1 | grep -E 'modules transformed|built'",
         "node -p \"require('./tool/node_modules/vite/package.json').version\"",
         setup="npm install --silent --no-audit --no-fund --prefix tool create-vite@5 vite@5", noise=[(r"built in.*", "built")]),
    tool("TypeScript and esbuild", "npm", "npx --no-install tsc --strict --outDir out t.ts && node out/t.js && npx --no-install esbuild t.ts --bundle --log-level=error | tail -n 3",
         "npx --no-install tsc --version", setup="npm install --silent --no-audit --no-fund typescript@5 esbuild",
         files={"t.ts": "const all: number[] = [1, 2, 3];\nconsole.log(all.reduce((a, b) => a + b));\nexport {};\n"}),
    tool("ESLint and Prettier", "npm", "npx --no-install prettier --check t.js; npx --no-install eslint --no-eslintrc --parser-options=ecmaVersion:2020 --rule 'no-unused-vars: error' t.js", "npx --no-install eslint --version",
         setup="npm install --silent --no-audit --no-fund eslint@8 prettier@3; printf 'const a = 1;\\nconsole.log(a);\\n' >t.js"),
    tool("cargo new, vendor and build", "cargo git", "git init -q . && cargo new -q app && cd app && cp -r ../vendored/* ../vendored/.cargo . && cargo build -q --offline && ./target/debug/app",
         setup="cargo init -q --name app vendored && cd vendored && cargo add -q itoa && printf 'fn main() { println!(\"{}\", itoa::Buffer::new().format(42)); }\\n' >src/main.rs && mkdir .cargo && cargo vendor -q >.cargo/config.toml && rm -rf .git"),
    tool("Go modules, vendored", "go=golang-go", "go build -mod=vendor -o t . && ./t", "go version", setup="go mod vendor", files={
        "go.mod": "module example.org/t\n\ngo 1.18\n\nrequire example.org/lib v1.0.0\n\nreplace example.org/lib => ./lib\n",
        "lib/go.mod": "module example.org/lib\n\ngo 1.18\n", "lib/lib.go": "package lib\n\nfunc Answer() int { return 42 }\n",
        "t.go": "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.org/lib\"\n)\n\nfunc main() { fmt.Println(lib.Answer()) }\n"}),
    tool("Maven", f"mvn=maven javac=default-jdk-headless {MAVEN_PLUGINS}", "mvn -o -q -B -Dmaven.repo.local=repository package 2>&1 && java -cp target/classes T", files={
        "src/main/java/T.java": "public class T { public static void main(String[] a) { System.out.println(6 * 7); } }\n",
        "pom.xml": ("<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId><artifactId>t</artifactId><version>1</version>"
                    "<properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target>"
                    "<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties></project>\n")},
         setup="cp -rL /usr/share/maven-repo repository"),
    tool("Gradle", "gradle javac=default-jdk-headless", "gradle --offline -q --no-daemon run 2>&1; ls .gradle build >/dev/null && echo built", "gradle --version | grep '^Gradle'", files={
        "settings.gradle": "rootProject.name = 't'\n", "build.gradle": "apply plugin: 'java'\ntask run(type: JavaExec) { main = 'T'; classpath = sourceSets.main.runtimeClasspath }\n",
        "src/main/java/T.java": "public class T { public static void main(String[] a) { System.out.println(6 * 7); } }\n"}),
    # Other programs of a working day.
    tool("pytest in a new environment", "python3=python3-venv", "python3 -m venv v && v/bin/pip -q install --no-index --find-links wheels pytest && v/bin/python -m pytest -q t.py 2>&1",
         "python3 --version", setup="python3 -m pip -q download -d wheels pytest", files={"t.py": "def test_sum(tmp_path):\n    (tmp_path / 'a').write_text('x')\n    assert 1 + 1 == 2\n"}),
    tool("mypy, ruff, black", "python3=python3-venv", "venv/bin/mypy --strict t.py; venv/bin/ruff check t.py; venv/bin/black --check t.py 2>&1", "venv/bin/mypy --version",
         setup="python3 -m venv venv; venv/bin/pip -q install mypy ruff black", files={"t.py": "def f(n: int) -> int:\n    return n * 2\n\n\nprint(f(21))\n"}),
    tool("FFmpeg", "ffmpeg", "ffmpeg -loglevel error -f lavfi -i testsrc=duration=1:size=64x64:rate=5 -pix_fmt rgb24 -f rawvideo t.raw && sha256sum t.raw", "ffmpeg -version"),
    tool("ImageMagick", "convert=imagemagick", "convert -size 32x32 gradient:red-blue t.png && identify -format '%w %h %m %k\\n' t.png", "convert -version"),
    tool("Ghostscript", "gs=ghostscript", "echo '%!PS\n72 72 moveto 100 100 lineto stroke showpage' >t.ps && gs -q -dNOPAUSE -dBATCH -sDEVICE=pnggray -r20 -sOutputFile=t.png t.ps && sha256sum t.png"),
    tool("Pandoc", "pandoc", "printf '# T\\n\\n- a\\n- b\\n' | pandoc -f markdown -t html"),
    tool("gnuplot", "gnuplot=gnuplot-nox", "gnuplot -e \"set terminal dumb 40 10; plot sin(x)\""),
    tool("ripgrep, jq, gawk", "rg=ripgrep jq gawk", "printf 'a 1\\nb 2\\n' >t; rg -c . t; jq -n '[1, 2] | add'; gawk '{ s += $2 } END { print s }' t"),
    tool("rsync", "rsync", "mkdir a && echo x >a/f && rsync -a --itemize-changes a/ b/ && cat b/f"),
    tool("tmux", "tmux", "tmux -S \"$PWD/s\" -f /dev/null new-session -d 'echo in >out; sleep 0.2' && for i in $(seq 50); do [ -s out ] && break; sleep 0.1; done; cat out", "tmux -V"),
    tool("Vim", "vim", "printf 'one\\n' >t && vim -u NONE -es -c '%s/one/two/' -c wq t; cat t"),
]

CASES = [*SUITES, *TOOLS]
