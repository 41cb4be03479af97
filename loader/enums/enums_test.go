package enums

import (
	"errors"
	"testing"
)

// TestCounts holds the tables to the counts of the documents.
func TestCounts(t *testing.T) {
	for name, want := range map[string]int{
		"UnitType": 79, "MicroOp": 126, "NonLinearMode": 48, "NeuronToken": 30, "SerialType": 11,
		"TensorDataType": 11, "OpType": 12, "PoolingType": 14, "ReductionType": 11, "ElementwiseType": 21,
		"ScaledElementwiseType": 5, "PaddingMode": 7, "ReturnCode": 12, "CatalogueType": 12, "DataLayout": 11,
	} {
		found := false
		for e := range All() {
			if e.Name != name {
				continue
			}
			found = true
			numbers := make(map[uint64]bool)
			for _, v := range e.Values {
				numbers[v.Number] = true
			}
			if len(numbers) != want {
				t.Errorf("%s has %d numbers, want %d", name, len(numbers), want)
			}
		}
		if !found {
			t.Errorf("no enumeration %s", name)
		}
	}
}

// TestSpellings has numbers the documents spell out, the vendor's mistake among them.
func TestSpellings(t *testing.T) {
	for _, tt := range []struct {
		got  interface{ String() string }
		want string
	}{
		{MicroAffineTranform, "AFFINE_TRANFORM"}, {MicroOp(0x3f), "AFFINE_TRANFORM"}, {MicroOp(0x7d), "INVALID"},
		{MicroOp(126), "MicroOp(126)"}, {UnitSDPA, "SDPA"}, {UnitType(79), "FunctionCall"}, {UnitType(0), "UnitType(0)"},
		{ModeGelu, "gelu"}, {NeuronToken(9), "silu"}, {NeuronToken(8), "NeuronToken(8)"}, {PaddingReflective, "Reflective"},
		{PaddingMode(4), "PaddingMode(4)"}, {ReturnUnsupported, "kIOReturnUnsupported"}, {OpTypeAneInference, "AneInference"},
		{SerialFp16, "fp16"}, {TensorFloat16, "Float16"}, {CatalogueFloat16, "float16"}, {DatapathFp16, "fp16"},
	} {
		if got := tt.got.String(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// TestParse takes every spelling back.
func TestParse(t *testing.T) {
	for e := range All() {
		for _, v := range e.Values {
			if n, err := parse(&e, v.Name); err != nil || n != v.Number {
				t.Errorf("%s %q is %d, %v; want %d", e.Name, v.Name, n, err, v.Number)
			}
		}
	}
	if v, err := ParseNeuronToken("Swish"); err != nil || v != NeuronSilu {
		t.Errorf("swish is %v, %v", v, err)
	}
	var e *ParseError
	if _, err := ParseMicroOp("AFFINE_TRANSFORM"); !errors.As(err, &e) || e.Enum != "MicroOp" {
		t.Errorf("the spelling that the vendor does not use: %v", err)
	}
}

// TestFind: fp16 has a number in each of four numberings.
func TestFind(t *testing.T) {
	got := make(map[string]uint64)
	for m := range Find("FP16") {
		got[m.Enum.Name] = m.Value.Number
	}
	for name, want := range map[string]uint64{"SerialType": 3, "TensorDataType": 1, "CatalogueType": 5, "DatapathFormat": 2} {
		if n, ok := got[name]; !ok || n != want {
			t.Errorf("%s: %d, %v; want %d", name, n, ok, want)
		}
	}
	n := 0
	for range Find("0x12") {
		n++
	}
	if n < 3 { // units, opcodes, modes
		t.Errorf("18 is found %d times", n)
	}
}
