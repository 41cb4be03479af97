// Package onnxruntime runs ONNX files with onnxruntime in Node.js. It computes in float32.
//
//	Find    --> the node program and the npm package onnxruntime-node, or an error
//	Save    --> DIR/net.onnx, DIR/in_NAME.npy
//	Run     --> DIR/ort_NAME.npy, by the script run.mjs
//	Outputs --> tensors
//
// The package onnxruntime-node or onnxruntime-web is searched in $ORT_DIR and in the working
// directory. Install it with `npm install --ignore-scripts onnxruntime-node`.
package onnxruntime
