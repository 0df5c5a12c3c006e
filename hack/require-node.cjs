// mocha loads this module first, to refuse an old Node.js. The module is plain JavaScript, because an older Node.js
// fails on the first TypeScript file with the unhelpful error "Unknown file extension".
'use strict';
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  console.error(
    `These sources need Node 22.19 or newer to run; this is Node ${process.versions.node}. ` +
      'Run "make test", which uses the pinned Node from node_modules, or put node_modules/.bin first in PATH.',
  );
  process.exit(1);
}
