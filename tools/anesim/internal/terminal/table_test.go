package terminal

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Tables fit their width: columns are left out, and numbers stay to the right.
func TestTablesFit(t *testing.T) {
	x := NewTable(Word("layer", 0), Number("in", 2), Number("cycles", 0), Number("kernel", 3), Number("energy", 1))
	x.Add("a_layer_of_a_long_name", "3x224x224", "1,234", "7x7/2", "1.5 mJ")
	x.Add("b", "64x56x56", "5", "-", "3 uJ")
	for _, tc := range []struct {
		width int
		first string
	}{
		{80, "layer                          in  cycles  kernel  energy"},
		{53, "layer                          in  cycles  energy"},
		{40, "layer                   cycles  energy"},
		{30, "layer                   cycles"},
		{20, "layer         cycles"},
	} {
		var b strings.Builder
		if err := x.Write(&b, tc.width, 0); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
		if lines[0] != tc.first || len(lines) != 3 {
			t.Errorf("width %d: %q", tc.width, b.String())
		}
		for _, l := range lines {
			if n := utf8.RuneCountInString(l); n > tc.width {
				t.Errorf("width %d: %d columns: %q", tc.width, n, l)
			}
		}
	}
}

// On a terminal lines of words go on indented; in a pipe they are whole.
func TestPager(t *testing.T) {
	var b strings.Builder
	p := &Pager{W: &b, Width: 20}
	p.Printf("output  one two three four five six")
	if got := b.String(); got != "output  one two\n    three four five\n    six\n" {
		t.Errorf("%q", got)
	}
	b.Reset()
	NewPager(&b).Printf("%s", strings.Repeat("word ", 100)+"end")
	if strings.Count(b.String(), "\n") != 1 {
		t.Errorf("%q", b.String())
	}
}

// Names that are too long lose their middle and stay distinct.
func TestShortNamesAreDistinct(t *testing.T) {
	for _, tc := range []struct {
		names, want []string
	}{
		{
			[]string{"/model/layers.0/attention/query/MatMul", "/model/layers.1/attention/query/MatMul", "short"},
			[]string{"/model/layers.0..atMul", "/model/layers.1..atMul", "short"},
		},
		{
			[]string{"backbone.stage_1.block_0.conv1.weight", "backbone.stage_1.block_0.conv1.bias"},
			[]string{"..weight", "..bias"},
		},
		{ // what is left out is alike in all names that are too long
			[]string{"short", "a_branch_of_an_if/encoder/layer/Conv", "a_branch_of_an_if/decoder/layer/Conv"},
			[]string{"short", "..f/encoder/layer/Conv", "..f/decoder/layer/Conv"},
		},
		{ // only the middle differs
			[]string{"convolution/of/backbone/a/of/the/whole/network/x", "convolution/of/backbone/b/of/the/whole/network/x", "convolution/of/backbone/c/of/the/whole/network/x"},
			[]string{"..a/of/the../network/x", "..b/of/the../network/x", "..c/of/the../network/x"},
		},
	} {
		x := NewTable(Word("layer", 0))
		for _, n := range tc.names {
			x.Add(n)
		}
		const width = 22
		if got := x.Lines(width, 0)[1:]; !slices.Equal(got, tc.want) {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

// A terminal says how many columns of a table it leaves out.
func TestTablesSayWhatIsLeftOut(t *testing.T) {
	x := NewTable(Word("layer", 0), Number("in", 2), Number("cycles", 0), Number("kernel", 3))
	x.Add("a_layer_of_a_long_name", "3x224x224", "1,234", "7x7/2")
	for width, want := range map[int]string{
		0: "", 80: "", 45: "(1 column left out to fit the terminal; | less -S shows more)", 30: "(2 columns left out to fit the terminal; | less -S shows more)",
	} {
		var b strings.Builder
		p := &Pager{W: &b, Width: width}
		p.Table(x, 0)
		got := strings.Join(strings.Fields(strings.Join(strings.SplitN(b.String(), "\n", 3)[2:], " ")), " ")
		if got != want {
			t.Errorf("width %d: %q, want %q", width, got, want)
		}
	}
}

// A prefix that all names share is left out before columns are, and is printed once.
func TestSharedPrefixIsPrintedOnce(t *testing.T) {
	x := NewTable(Word("layer", 0), Number("cycles", 1))
	x.Add("If_0_then_branch/encoder/Conv", "1,234")
	x.Add("If_0_then_branch/decoder/Conv", "5")
	var b strings.Builder
	p := &Pager{W: &b, Width: 34}
	p.Table(x, 0)
	want := "layer           cycles\n..encoder/Conv   1,234\n..decoder/Conv       5\n(.. at the start of a name is\n    If_0_then_branch/)\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// A wrapper wraps lines however they are written.
func TestWrapper(t *testing.T) {
	for width, want := range map[int]string{0: "one two three four\nfive", 10: "one two\n    three\n    four\nfive\n"} {
		var b strings.Builder
		w := NewWrapper(&b, width)
		for _, s := range []string{"one two", " three fo", "ur\nfi", "ve"} {
			if n, err := w.Write([]byte(s)); n != len(s) || err != nil {
				t.Error(n, err)
			}
		}
		if err := w.Flush(); err != nil || strings.TrimSuffix(b.String(), "\n") != strings.TrimSuffix(want, "\n") {
			t.Errorf("width %d: %q, %v", width, b.String(), err)
		}
	}
}

// Omitted names the columns that lines of a width leave out, and no others.
func TestOmittedColumns(t *testing.T) {
	table := NewTable(Word("name", 0), Number("first to go", 2), Number("second", 1))
	table.Add("x", "1", "2")
	for width, want := range map[int][]string{80: nil, 15: {"first to go"}, 5: {"first to go", "second"}} {
		got := table.Omitted(width)
		if !slices.Equal(got, want) {
			t.Errorf("%d characters: %q, want %q", width, got, want)
		}
		for _, title := range []string{"name", "first to go", "second"} {
			if strings.Contains(table.Lines(width, 0)[0], title) == slices.Contains(got, title) {
				t.Errorf("%d characters: %q is both shown and omitted, or neither", width, title)
			}
		}
	}
}
