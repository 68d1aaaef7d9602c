// What every session of a TypeScript client does, whichever SDK it uses. Prints
// one line of JSON for each step; the driver in mcp_clients.rs judges them.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export const [program, transport] = process.argv.slice(2);
export const PATIENCE_MS = 120_000;

// What a server says whose project file has become invalid.
const STAYS = 'the rules from before stay in force';

setTimeout(() => {
  console.error('the session takes too long');
  process.exit(3);
}, 120_000).unref();

export function say(step, value) {
  fs.writeSync(1, JSON.stringify({ step, value }) + '\n');
}

// Looks again and again until something is found; false when it never is.
export async function eventually(found) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(20)) {
    if (await found()) return true;
  }
  return false;
}

// Returns whether a process runs that has the word among its arguments.
export function running(word) {
  return fs.readdirSync('/proc').some((pid) => {
    try {
      return /^\d+$/.test(pid) && fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word);
    } catch {
      return false;
    }
  });
}

// A result of a tool as the server sent it, or the protocol error that came instead.
export async function outcome(promise) {
  try {
    const { content, structuredContent, isError, _meta } = await promise;
    const problem = _meta?.['zonekeep/error'];
    return { content, structuredContent, isError: isError ?? false, problem };
  } catch (error) {
    return { error: { code: error.code, message: error.message } };
  }
}

// Starts the server for clients that come over HTTP.
export async function serve(...more) {
  fs.writeFileSync('../token', 'sesame-open-0123456789abcdef0123456789\n', { mode: 0o600 });
  const child = spawn(program, ['mcp', '--http', '127.0.0.1:0', '--token-file', '../token', ...more], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  process.on('exit', () => child.kill('SIGKILL'));
  let stderr = '';
  child.stderr.on('data', (data) => (stderr += data));
  const address = () => /listening on (http:\S+)\n/.exec(stderr)?.[1];
  if (!(await eventually(() => address() || child.exitCode !== null)) || !address()) {
    throw new Error(`the server does not listen: ${stderr}`);
  }
  const headers = { Authorization: 'Bearer sesame-open-0123456789abcdef0123456789' };
  const stop = async () => {
    child.kill('SIGTERM');
    await eventually(() => child.exitCode !== null || child.signalCode !== null);
    return { exit: child.exitCode, signal: child.signalCode };
  };
  return { url: new URL(address()), headers, stderr: () => stderr, stop };
}

// Says what strangers get who have no token, a wrong one, or come from a web page.
export async function strangers({ url, headers }) {
  const message = {
    jsonrpc: '2.0', id: 1, method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  };
  const status = async (extra) => {
    const types = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
    const answer = await fetch(url, { method: 'POST', headers: { ...types, ...extra }, body: JSON.stringify(message) });
    await answer.body?.cancel();
    return answer.status;
  };
  say('strangers', {
    'no token': await status({}),
    'wrong token': await status({ Authorization: 'Bearer guess' }),
    'web page': await status({ ...headers, Origin: 'http://evil.example' }),
    'with the token': await status(headers),
  });
}

// Drives a session: `connect({elicit})` gives a client, `elicit` answers questions.
export async function drive(connect) {
  const asked = [];
  let answer;
  const elicit = ({ message, requestedSchema }) => {
    asked.push({ message, requestedSchema });
    return answer;
  };
  const client = await connect({ elicit });
  const call = (name, args, options) => outcome(client.call(name, args, options));
  const accept = (content) => ({ action: 'accept', content });

  say('hello', client.hello());
  say('tools', await client.tools());
  say('list', await call('list_files', { path: '/' }));
  say('read text', await call('read_file', { path: '/notes/a.txt' }));
  say('read image', await call('read_file', { path: '/notes/dot.png' }));

  const answers = {
    once: accept({ decision: 'once' }),
    deny: accept({ decision: 'deny', note: 'use /out instead' }),
    declined: { action: 'decline' },
    cancelled: { action: 'cancel' },
    empty: accept({}),
    nonsense: accept({ decision: 'perhaps' }),
    session: accept({ decision: 'session' }),
  };
  const write = async (step, name) => {
    asked.length = 0;
    const result = await call('write_file', { path: `/ask/${name}.txt`, content: `${step}\n` });
    say(`write ${step}`, { asked: asked.slice(), result });
  };
  for (const [name, given] of Object.entries(answers)) {
    answer = given;
    await write(name, name);
  }
  answer = { action: 'decline' };
  await write('session again', 'session');

  const alone = await connect({});
  say('write alone', await outcome(alone.call('write_file', { path: '/ask/alone.txt', content: 'x' })));
  await alone.close();

  await commands(client, call);
  await mistakes(call);
  await resources(client);
  await changes(client, call);
  const start = Date.now();
  await client.close();
  say('closed', { ms: Date.now() - start });
}

async function commands(client, call) {
  const seen = [];
  const onprogress = ({ progress, message }) => seen.push({ progress, message, at: Date.now() });
  const line = 'echo one; sleep 0.5; echo two; sleep 0.5; echo three';
  const result = await call('shell', { command: line }, { onprogress });
  const end = Date.now();
  say('progress', { seen: seen.map(({ at, ...rest }) => ({ ...rest, early: end - at > 200 })), result });

  const stop = new AbortController();
  const word = `3600.${process.pid}`;
  const cancelled = call('shell', { command: `sleep ${word}`, timeout: 7200 }, { signal: stop.signal });
  const started = await eventually(() => running(word));
  stop.abort('enough');
  const ended = 'error' in (await cancelled);
  say('cancel', { started, ended, gone: await eventually(() => !running(word)) });
  say('after cancel', await call('read_file', { path: '/notes/a.txt' }));

  say('background', await call('shell', { command: 'echo early; sleep 0.3; echo late', background: true }));
  let job;
  await eventually(async () => {
    job = await call('shell_job', { action: 'read', job: 1 });
    return job.structuredContent?.state !== 'running';
  });
  say('job', job);
  const long = `3601.${process.pid}`;
  say('background long', await call('shell', { command: `sleep ${long}`, background: true }));
  const up = await eventually(() => running(long));
  say('stop', await call('shell_job', { action: 'stop', job: 2 }));
  say('stopped', { started: up, gone: await eventually(() => !running(long)) });
}

async function mistakes(call) {
  const cases = {
    outside: ['read_file', { path: '/etc/passwd' }],
    missing: ['read_file', { path: '/notes/none.txt' }],
    'read-only': ['write_file', { path: '/notes/a.txt', content: 'x' }],
    'unknown tool': ['launch_rocket', {}],
    'unknown argument': ['read_file', { path: '/notes/a.txt', colour: 'red' }],
    'wrong type': ['read_file', { path: 7 }],
    'no argument': ['read_file', {}],
  };
  for (const [name, [tool, args]] of Object.entries(cases)) {
    say(`error ${name}`, await call(tool, args));
  }
}

async function resources(client) {
  const found = [];
  let pages = 0;
  let cursor;
  do {
    const page = await client.resources(cursor);
    found.push(...page.resources);
    cursor = page.nextCursor;
    pages += 1;
  } while (cursor !== undefined && pages < 100);
  say('resources', { pages, found });
  say('templates', await client.templates());
  const read = async (uri) => {
    try {
      return await client.read(uri);
    } catch (error) {
      return { error: { code: error.code, message: error.message } };
    }
  };
  say('resource text', await read('zonekeep:///notes/a.txt'));
  say('resource image', await read('zonekeep:///notes/dot.png'));
  say('resource missing', await read('zonekeep:///notes/none.txt'));
  say('resource outside', await read('zonekeep:///../etc/passwd'));
  say('resource elsewhere', await read('file:///etc/passwd'));

  const uri = 'zonekeep:///out/watched.txt';
  const updates = [];
  const unsubscribe = await client.subscribe(uri, (changed) => updates.push(changed));
  fs.writeFileSync('out/watched.txt', 'two\n');
  const told = await eventually(() => updates.length > 0);
  await unsubscribe();
  await sleep(300);
  const before = updates.length;
  fs.writeFileSync('out/watched.txt', 'three\n');
  await sleep(700);
  say('updates', { told, uris: [...new Set(updates)], later: updates.length - before });

  const audit = await client.read('zonekeep://audit/session');
  const [{ text, ...rest }] = audit.contents;
  say('audit', { ...rest, count: audit.contents.length, records: text.trim().split('\n').map((line) => JSON.parse(line)) });
}

async function changes(client, call) {
  const names = async () => (await client.tools()).map((tool) => tool.name);
  const good = fs.readFileSync('zonekeep.yaml', 'utf8');
  let told = 0;
  const unsubscribe = await client.onToolsChanged(() => (told += 1));

  fs.writeFileSync('zonekeep.yaml', `${good}tools: [read_file, write_file, list_files]\n`);
  say('fewer tools', { told: await eventually(() => told > 0), names: await names() });
  say('shell is gone', await call('shell', { command: 'echo still here' }));

  fs.writeFileSync('zonekeep.yaml', 'sandbox: { zoness: 1 }\n');
  let result;
  const warned = await eventually(async () => {
    result = await call('list_files', { path: '/' });
    return result.content.length > 1 || /zonekeep\.yaml|project file/.test(result.content[0].text);
  });
  // What the server says there may arrive after the answer.
  await eventually(() => client.stderr().includes(STAYS));
  say('invalid file', { warned, result, names: await names(), stderr: client.stderr() });

  told = 0;
  fs.writeFileSync('zonekeep.yaml', good);
  say('tools again', { told: await eventually(() => told > 0), names: await names() });
  await unsubscribe();
}
