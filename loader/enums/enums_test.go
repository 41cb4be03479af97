package enums

import (
	"errors"
	"testing"
)

// TestCounts holds every enumeration to the count of its table: the documents' where they
// give one, else the rows of the table, and of those seen in containers what was seen.
func TestCounts(t *testing.T) {
	want := map[string]int{
		// Tables C.1 to C.7, C.11 and C.12.
		"NeuronToken": 30, "SerialType": 11, "UnitType": 79, "NonLinearMode": 48, "MicroOp": 126, "ReturnCode": 12,
		// Table C.3.
		"PaddingStyle": 5, "NearestRounding": 6, "ReduceOp": 6, "DataLayout": 11, "ScatterMode": 7, "IndicesMode": 8,
		"GateActivation": 6, "StencilPadding": 7, "PixelFormat": 10, "RoundingMode": 5, "Collective": 5,
		// Table C.4.
		"PoolingType": 14, "ReductionType": 11, "ElementwiseType": 21, "ScaledElementwiseType": 5, "PaddingMode": 7,
		"SamplingMethod": 2, "SamplingGridMode": 7, "CoordinateMode": 3, "ArgMode": 4, "SortDirection": 3, "TopKType": 3,
		"FlattenType": 2, "Dimension": 5,
		// Listing C.1 and the container.
		"TensorDataType": 11, "OpType": 12, "CatalogueType": 12, "Generation": 8,
		"DatapathFormat": 3, "LoadCommand": 7, "ThreadFlavor": 2, "SegmentFlags": 3, "SectionKind": 5, "SymbolType": 3,
	}
	for e := range All() {
		n, ok := want[e.Name]
		if !ok {
			t.Errorf("no count for %s", e.Name)
		}
		delete(want, e.Name)
		numbers := make(map[uint64]bool)
		for _, v := range e.Values {
			numbers[v.Number] = true
		}
		if len(numbers) != n {
			t.Errorf("%s has %d numbers, want %d", e.Name, len(numbers), n)
		}
	}
	for name := range want {
		t.Errorf("no enumeration %s", name)
	}
}

// TestCountedNotListed are the gaps as data: what the documents count and do not list. A
// row that turns up fails here.
func TestCountedNotListed(t *testing.T) {
	listed := make(map[string]int)
	for e := range All() {
		numbers := make(map[uint64]bool)
		for _, v := range e.Values {
			numbers[v.Number] = true
		}
		listed[e.Name] = len(numbers)
	}
	for _, gap := range []struct {
		name            string
		counted, listed int
	}{
		{"NeuronToken", 33, 30}, // 8, 24 and 30 are not in table C.1
		{"CatalogueType", 24, 12},
		{"TaskType", 9, 0}, // CommonTaskType, table C.18
	} {
		if n := listed[gap.name]; n != gap.listed || n >= gap.counted {
			t.Errorf("%s has %d of %d, not %d: the gap has changed", gap.name, n, gap.counted, gap.listed)
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
	for m := range Find("0x12") {
		if m.Value.Number != 18 {
			t.Errorf("%s of %s is %d", m.Value.Name, m.Enum.Name, m.Value.Number)
		}
		n++
	}
	if n < 3 { // units, opcodes, modes
		t.Errorf("18 is found %d times", n)
	}
}
