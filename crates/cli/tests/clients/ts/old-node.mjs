// For `node --import`: gives Node 20 the one export of `fs` that the conformance
// suite asks for and these tests have no use for.
import fs from 'node:fs';
import { register } from 'node:module';

const shim = `
  export * from 'node:fs';
  export { default } from 'node:fs';
  export const globSync = () => { throw new Error('this Node has no globSync'); };`;

const hooks = `
  export function resolve(name, context, next) {
    return name === 'fs' && context.parentURL?.includes('/conformance')
      ? { url: ${JSON.stringify('data:text/javascript,' + encodeURIComponent(shim))}, shortCircuit: true }
      : next(name, context);
  }`;

if (!('globSync' in fs)) {
  register('data:text/javascript,' + encodeURIComponent(hooks));
}
