//! What languages bring to talk to the web.

use std::path::PathBuf;
use std::process::Command;

use super::{Client, program, skip};

const NODE: Client<'static> = Client { needs: &["node"], ..Client::USUAL };
const PYTHON: Client<'static> = Client { needs: &["/usr/bin/python3"], ..Client::USUAL };

#[test]
fn node_fetch() {
    let code = "const answer = await fetch(process.argv[2]);\n\
                process.stdout.write(await answer.text());\n";
    let script = "node fetch.mjs https://$NAME/";
    Client { files: &[("fetch.mjs", code)], script, ..NODE }.check();
}

#[test]
fn node_https() {
    let code = "import https from 'node:https';\n\
                https.get(process.argv[2], (answer) => answer.pipe(process.stdout));\n";
    let script = "node get.mjs https://$NAME/";
    Client { files: &[("get.mjs", code)], script, ..NODE }.check();
}

/// The proxy of the environment is used where there is one.
#[test]
fn undici() {
    let code = "import { EnvHttpProxyAgent, request, setGlobalDispatcher } from 'undici';\n\
                setGlobalDispatcher(new EnvHttpProxyAgent());\n\
                const answer = await request(process.argv[2]);\n\
                process.stdout.write(await answer.body.text());\n";
    let script = "node undici.mjs https://$NAME/";
    let client = Client { files: &[("undici.mjs", code)], script, ..NODE };
    client.check_with("node_modules", "node_modules", &["undici"]);
}

#[test]
fn python_urllib() {
    let code = "import sys, urllib.request\n\
                print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())\n";
    let script = "/usr/bin/python3 -B get.py https://$NAME/";
    Client { files: &[("get.py", code)], script, ..PYTHON }.check();
}

#[test]
fn python_requests() {
    let code = "import sys, requests\nprint(requests.get(sys.argv[1], timeout=20).text)\n";
    let client = Client { files: &[("get.py", code)], script: PACKAGED, ..PYTHON };
    let packages = ["requests", "urllib3", "idna", "certifi", "charset_normalizer"];
    client.check_with(".python/langchain", "packages", &packages);
}

#[test]
fn python_httpx() {
    let code = "import ssl, sys, httpx\n\
                trust = ssl.create_default_context()\n\
                print(httpx.get(sys.argv[1], timeout=20, verify=trust).text)\n";
    let client = Client { files: &[("get.py", code)], script: PACKAGED, ..PYTHON };
    let packages = ["httpx", "httpcore", "h11", "anyio", "idna", "certifi"];
    client.check_with(".python/langchain", "packages", &packages);
}

const PACKAGED: &str = "PYTHONPATH=$PWD/packages /usr/bin/python3 -B get.py https://$NAME/";

/// Knows no proxies: the address of the name is dialled.
#[test]
fn python_asyncio() {
    let code = "import asyncio, ssl, sys\n\
                async def main(name):\n\
                \x20   trust = ssl.create_default_context()\n\
                \x20   ways = asyncio.open_connection(name, 443, ssl=trust)\n\
                \x20   reader, writer = await ways\n\
                \x20   writer.write(f'GET / HTTP/1.0\\r\\nHost: {name}\\r\\n\\r\\n'.encode())\n\
                \x20   print((await reader.read()).decode())\n\
                asyncio.run(main(sys.argv[1]))\n";
    let script = "/usr/bin/python3 -B get.py $NAME";
    Client { files: &[("get.py", code)], script, ..PYTHON }.check();
}

const JAVA: &str = include_str!("Get.java");

#[test]
fn java_http_client() {
    java("client");
}

#[test]
fn java_url_connection() {
    java("connection");
}

fn java(how: &str) {
    let script = format!("java -XX:TieredStopAtLevel=1 -cp $PWD Get {how} https://$NAME/");
    let client = Client { needs: &["java", "javac"], script: &script, ..Client::USUAL };
    let Some(bench) = client.bench() else { return };
    bench.project.put("work/Get.java", JAVA);
    let mut compile = Command::new(program("javac").unwrap());
    compile.arg("-d").arg(bench.project.path("work")).arg(bench.project.path("work/Get.java"));
    assert!(compile.status().unwrap().success());
    client.check_on(&bench);
}

impl Client<'_> {
    /// Checks a client that needs packages which `scripts/clients` installs.
    fn check_with(&self, from: &str, to: &str, packages: &[&str]) {
        let Some(bench) = self.bench() else { return };
        let from = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(from);
        if !from.join(".installed").exists() {
            return skip("the clients are not installed; scripts/clients installs them");
        }
        let to = bench.project.path("work").join(to);
        std::fs::create_dir(&to).unwrap();
        for package in packages {
            let mut copy = Command::new("cp");
            let copied = copy.arg("-r").arg(from.join(package)).arg(&to).status();
            assert!(copied.unwrap().success());
        }
        self.check_on(&bench);
    }
}
