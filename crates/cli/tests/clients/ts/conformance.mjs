// Runs the public conformance suite against the server over HTTP:
// conformance.mjs PROGRAM http
//
// The suite sends no token, so a relay adds it and changes nothing else. What
// fails, and why, is in conformance/*.yaml; the suite says so when a line there
// is not needed any more.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import { fileURLToPath } from 'node:url';
import { say, serve } from './steps.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
let server;

const relay = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: server.headers.Authorization };
  const { method, url: path } = request;
  const onward = http.request({ host: server.url.hostname, port: server.url.port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    response.flushHeaders();
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  request.pipe(onward);
});
await new Promise((ready) => relay.listen(0, '127.0.0.1', ready));
const host = `localhost:${relay.address().port}`;
server = await serve('--allow-host', host, '--allow-origin', `http://${host}`);

// name, package, arguments
const suites = [
  ['released', '@modelcontextprotocol/conformance', ['--suite', 'all']],
  ['2025-11-25', 'conformance-next', ['--requirements', '2025-11-25']],
  ['2026-07-28', 'conformance-next', ['--requirements', '2026-07-28']],
];

for (const [name, suite, args] of suites) {
  const output = `../conformance-${name}`;
  const command = [
    '--import', here('old-node.mjs'), here(`../node_modules/${suite}/dist/index.js`),
    'server', '--url', `http://${host}/mcp`, ...args, '-o', output,
    '--expected-failures', here(`../conformance/${name}.yaml`),
  ];
  const { exit, text } = await new Promise((done) => {
    execFile(process.execPath, command, { timeout: 100_000, maxBuffer: 1 << 26 }, (error, stdout, stderr) =>
      done({ exit: error ? (error.code ?? 'killed') : 0, text: stdout + stderr }));
  });
  const scenarios = {};
  for (const directory of fs.existsSync(output) ? fs.readdirSync(output) : []) {
    const scenario = /^server-(.*)-\d{4}-\d\d-\d\dT/.exec(directory)[1];
    const file = `${output}/${directory}/checks.json`;
    // A scenario that broke off has none.
    const checks = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : [];
    scenarios[scenario] = checks
      .filter(({ status }) => status !== 'INFO')
      .map(({ id, status, errorMessage }) => ({ id, status, error: errorMessage }));
  }
  say(name, { exit, scenarios, summary: text.slice(text.indexOf('=== SUMMARY')) });
}
relay.closeAllConnections();
relay.close();
say('server', await server.stop());
