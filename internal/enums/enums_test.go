package enums

import (
	"strings"
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

// TestConstants holds every constant to the spelling that its number has in the table.
func TestConstants(t *testing.T) {
	for _, tt := range []struct {
		got  interface{ String() string }
		want string
	}{
		{TensorFloat16, "Float16"}, {OpTypeCast, "Cast"}, {OpTypeAneInference, "AneInference"},
		{LoadSymbolTable, "symbol table"}, {LoadThread, "thread"}, {LoadPort, "port"}, {LoadBanner, "banner"},
		{LoadSegment, "segment"}, {LoadNote, "note"}, {LoadWidePort, "wide port"},
		{FlavorProgram, "program"}, {FlavorOperation, "operation"}, {SegmentPadded, "padded"}, {SegmentWindow, "window"},
		{SectionScratch, "scratch"}, {SectionInput, "input"}, {SectionOutput, "output"}, {SectionConstants, "constants"}, {SectionText, "text"},
		{SymbolDefined, "defined"}, {SymbolShape, "shape"}, {SymbolElementType, "element type"},
		{CatalogueType(5), "float16"}, {CatalogueType(11), "CatalogueType(11)"}, {Generation(4), "M1/A14"}, {Generation(2), "Generation(2)"},
	} {
		if got := tt.got.String(); got != tt.want {
			t.Errorf("%T %d is %q, want %q", tt.got, tt.got, got, tt.want)
		}
	}
	if !CatalogueType(5).Known() || CatalogueType(11).Known() || !Generation(4).Known() || Generation(2).Known() {
		t.Error("numbers without a name are known, or those with one are not")
	}
}

// TestSpellings has numbers that the documents spell out, the vendor's mistake among them.
func TestSpellings(t *testing.T) {
	for _, tt := range []struct {
		enum   string
		number uint64
		want   string
	}{
		{"MicroOp", 0x3f, "AFFINE_TRANFORM"}, {"MicroOp", 0x7d, "INVALID"}, {"MicroOp", 126, "MicroOp(126)"},
		{"UnitType", 79, "FunctionCall"}, {"UnitType", 0, "UnitType(0)"}, {"NeuronToken", 9, "silu"}, {"NeuronToken", 8, "NeuronToken(8)"},
		{"PaddingMode", 4, "PaddingMode(4)"}, {"SerialType", 3, "fp16"}, {"DatapathFormat", 2, "fp16"},
	} {
		if got := formatName(tt.enum, tt.number); got != tt.want {
			t.Errorf("%s %d is %q, want %q", tt.enum, tt.number, got, tt.want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	const head = "enum\tE\tVendor\ttable\tbytes\t-\n"
	for _, tt := range []struct{ name, text, want string }{
		{"columns of an enumeration", "enum\tE", "line 1: found 2 columns"},
		{"columns of a value", head + "1\ta", "line 2: found 2 columns"},
		{"evidence", strings.Replace(head, "bytes", "rumour", 1), "evidence"},
		{"no enumeration", "1\ta\t-", "before the first"},
		{"number", head + "x\ta\t-", "invalid syntax"},
		{"twice", head + "1\ta\t-\n2\tA\t-", "duplicate value"},
		{"empty column", head + "1\t\t-", "column 2 is empty"},
	} {
		if _, err := parseTable(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.want)
		}
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
