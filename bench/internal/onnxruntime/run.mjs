// Runs ONNX files with onnxruntime.
//
//	node run.mjs DIRECTORY...
//	node run.mjs -        (directories on standard input, one a line)
//
// Each directory holds net.onnx and an in_NAME.npy for each input. The outputs are written
// there as ort_NAME.npy. In these names %, / and \ are written %25, %2F and %5C. A directory
// whose graph does not load or run gets the file ort_error.txt instead, and the others still
// run. The exit code is 1 if any graph failed.
//
// The package onnxruntime-node, or onnxruntime-web if that does not load, is looked up from
// the working directory and from $ORT_DIR.
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

const types = {
  float32: ["<f4", Float32Array], float64: ["<f8", Float64Array], int64: ["<i8", BigInt64Array],
  uint64: ["<u8", BigUint64Array], int32: ["<i4", Int32Array], uint32: ["<u4", Uint32Array],
  int16: ["<i2", Int16Array], uint16: ["<u2", Uint16Array], int8: ["|i1", Int8Array],
  uint8: ["|u1", Uint8Array], bool: ["|b1", Uint8Array], float16: ["<f2", Uint16Array],
};
const byDescriptor = new Map(Object.entries(types).map(([name, [d, array]]) => [d, [name, array]]));

function loadRuntime() {
  let last;
  for (const dir of [process.env.ORT_DIR, process.cwd()].filter(Boolean)) {
    const require = createRequire(path.join(path.resolve(dir), "x.js"));
    for (const name of ["onnxruntime-node", "onnxruntime-web"]) {
      try { return require(name); } catch (e) { last = e; }
    }
  }
  throw new Error(`onnxruntime-node and onnxruntime-web do not load; want one of them installed in the working directory or $ORT_DIR: ${last.message}`);
}

function readArray(file) {
  const b = fs.readFileSync(file);
  if (b.toString("latin1", 0, 6) !== "\x93NUMPY") throw new Error(`${file}: not an .npy file`);
  const long = b[6] > 1;
  const at = long ? 12 : 10;
  const size = long ? b.readUInt32LE(8) : b.readUInt16LE(8);
  const header = b.toString("latin1", at, at + size);
  const descriptor = /'descr': *'([^']*)'/.exec(header)?.[1];
  if (!byDescriptor.has(descriptor) || /'fortran_order': *True/.test(header)) throw new Error(`${file}: unsupported array ${header.trim()}`);
  const dims = /'shape': *\(([^)]*)\)/.exec(header)[1].split(",").map((s) => s.trim()).filter(Boolean).map(Number);
  const [type, Typed] = byDescriptor.get(descriptor);
  const bytes = Uint8Array.from(b.subarray(at + size));
  return { type, dims, data: new Typed(bytes.buffer, 0, dims.reduce((n, d) => n * d, 1)) };
}

function writeArray(file, type, dims, data) {
  const [descriptor, Typed] = types[type];
  const shape = dims.length === 1 ? `${dims[0]},` : dims.join(", ");
  let header = `{'descr': '${descriptor}', 'fortran_order': False, 'shape': (${shape}), }`;
  header += " ".repeat(63 - ((10 + header.length) % 64)) + "\n";
  const head = Buffer.alloc(10);
  head.write("\x93NUMPY\x01\x00", "latin1");
  head.writeUInt16LE(header.length, 8);
  const values = data instanceof Typed ? data : Typed.from(data);
  fs.writeFileSync(file, Buffer.concat([head, Buffer.from(header, "latin1"), Buffer.from(values.buffer, values.byteOffset, values.byteLength)]));
}

const escape = (name) => name.replace(/[%/\\]/g, encodeURIComponent);

async function runDirectory(ort, dir) {
  const session = await ort.InferenceSession.create(path.join(dir, "net.onnx"), {
    graphOptimizationLevel: "disabled", intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 3,
  });
  try {
    const feeds = {};
    for (const name of session.inputNames) {
      const { type, dims, data } = readArray(path.join(dir, `in_${escape(name)}.npy`));
      feeds[name] = new ort.Tensor(type, data, dims);
    }
    const results = await session.run(feeds);
    for (const name of session.outputNames) {
      const { type, dims, data } = results[name];
      writeArray(path.join(dir, `ort_${escape(name)}.npy`), type, dims, data);
    }
  } finally {
    await session.release?.();
  }
}

async function main() {
  let dirs = process.argv.slice(2);
  if (dirs.length === 0) {
    console.error("usage: node run.mjs DIRECTORY... (or - for directories on standard input)");
    process.exit(2);
  }
  if (dirs.length === 1 && dirs[0] === "-") dirs = fs.readFileSync(0, "utf8").split("\n").filter(Boolean);
  const ort = loadRuntime();
  let failed = 0;
  for (const dir of dirs) {
    const report = path.join(dir, "ort_error.txt");
    fs.rmSync(report, { force: true });
    try {
      await runDirectory(ort, dir);
    } catch (e) {
      failed++;
      console.error(`${dir}: ${e.message}`);
      try { fs.writeFileSync(report, `${e.message}\n`); } catch (w) { console.error(w.message); }
    }
  }
  console.error(`${dirs.length - failed} of ${dirs.length} graphs ran`);
  process.exit(failed ? 1 : 0);
}

await main();
