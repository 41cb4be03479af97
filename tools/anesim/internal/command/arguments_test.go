package command

import (
	"strings"
	"testing"
)

// A mistake in the command line is answered in words of the command line, with the values that are wanted,
// not in words of the libraries that read it.
func TestArgumentErrors(t *testing.T) {
	net := exampleNetwork("picture.mil")
	for _, tc := range []struct{ args, want string }{
		{"model " + net + " --seed -1", `--seed "-1": want a whole number from 0 to 2^64-1`},
		{"model " + net + " --repeat 30fps", `--repeat "30fps": want a whole number below 2^63`},
		{"model " + net + " --repeat 9223372036854775808", `--repeat "9223372036854775808": want a whole number below 2^63`},
		{"run --idle 33", `--idle "33": want a time with its unit, such as 33ms`},
		{"model " + net + " --rate fast", `--rate "fast": want a number, such as 30`},
		{"model " + net + " --json=7", `--json "7": want true or false`},
		{"model " + net + " --compare int8", "want fp32, which says how far"},
		{"diff " + net, "want two files to compare, found 1"},
		{net, "unknown command \"" + net + "\" for anesim; try anesim model " + net},
		{net + " --machine m1", "try anesim model " + net},
		{"missing.onnx", "try anesim model missing.onnx"},
		{"missing.hwx --seed 1", "try anesim run missing.hwx"},
		{"arguments_test.go", "try anesim run arguments_test.go"},
		{"modle " + net, "did you mean model?"},
		{"--machine m1", "unknown flag: --machine"},
		{"model " + net + " --machine=", "--machine: the value is empty"},
		{"model " + net + " --weights=", "--weights: the value is empty"},
	} {
		_, errs, code := invoke(strings.Fields(tc.args)...)
		if code != exitUsage || !strings.Contains(errs, tc.want) || strings.Contains(errs, "strconv") || strings.Contains(errs, "time:") {
			t.Errorf("%s: exit %d: %s", tc.args, code, errs)
		}
	}
}

// An option that is not valid is named by its flag, not by its field in Go.
func TestErrorsNameFlags(t *testing.T) {
	for args, want := range map[string]string{
		"layer relu c=4 --repeat 4611686018427387904":                           "anesim: --repeat: too many dispatches",
		"layer relu c=4 --power-budget 1e308":                                   "anesim: --power-budget: budget is 1e+308 W",
		"model " + exampleNetwork("decoder-step.onnx") + " --merge a,b":         "anesim: --merge or --split: network decoder-step has no layer",
		"model " + exampleNetwork("decoder-step.onnx") + " --reshape query=1x1": "anesim: --reshape: cannot reshape",
	} {
		if _, errs, code := invoke(strings.Fields(args)...); code == exitDone || !strings.HasPrefix(errs, want) {
			t.Errorf("%s: exit %d: %s", args, code, errs)
		}
	}
}
