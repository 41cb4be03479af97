// Package onnxruntime runs ONNX files with onnxruntime, which computes in float32, in node.
//
//	Find    --> the node program and the npm package onnxruntime-node, or why there is none
//	Save    --> DIR/net.onnx, DIR/in_NAME.npy
//	Run     --> DIR/ort_NAME.npy, by the script run.mjs
//	Outputs --> tensors
//
// The package onnxruntime-node, or onnxruntime-web, is looked up from $ORT_DIR and from the
// working directory. `npm install --ignore-scripts onnxruntime-node` puts it there.
package onnxruntime
