package lower

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"anesim/hw/regs"
)

// difference is one word that differs from the real program.
type difference struct {
	task      int
	word      string
	got, want uint32
}

func (d difference) String() string {
	return fmt.Sprintf("%d %s %08x want %08x", d.task, d.word, d.got, d.want)
}

// words are a text's words by name, task by task.
func words(text []byte, first int) ([]map[string]uint32, error) {
	names := map[uint32]string{}
	for r := range regs.Registers() {
		names[r.Addr()] = r.Block + "." + r.Name
	}
	var tasks []map[string]uint32
	for d, err := range regs.Chain(text, first) {
		if err != nil {
			return tasks, err
		}
		m := map[string]uint32{"offset": d.Offset, "words": uint32(d.Words)}
		h := d.Append(nil)
		for i := range regs.HeaderWords {
			m[fmt.Sprintf("W%d", i)] = uint32(h[4*i]) | uint32(h[4*i+1])<<8 | uint32(h[4*i+2])<<16 | uint32(h[4*i+3])<<24
		}
		for _, r := range d.Records {
			for i, v := range r.Values {
				a := r.Addr + 4*uint32(i)
				name := fmt.Sprintf("%#x", a)
				if q, ok := names[a]; ok {
					name = q
				}
				m[name] = v
			}
		}
		tasks = append(tasks, m)
	}
	return tasks, nil
}

func compare(t *testing.T, got, want []byte, first int) []difference {
	t.Helper()
	a, err := words(got, first)
	if err != nil {
		t.Fatal(err)
	}
	b, err := words(want, first)
	if err != nil {
		t.Fatal(err)
	}
	var diff []difference
	if len(a) != len(b) {
		diff = append(diff, difference{0, "tasks", uint32(len(a)), uint32(len(b))})
	}
	for i := range min(len(a), len(b)) {
		for k, v := range b[i] {
			if g := a[i][k]; g != v {
				diff = append(diff, difference{i, k, g, v})
			}
		}
	}
	return diff
}

// reasons say why a text or a section differs from the compiler's.
var reasons = map[string]string{
	"conv_probe_k3_c256_n256_s32_st1_g1_bias0_same":      "the row skew is 3 units, which is what a patch 16 wide would take, where the other tiles 32 wide, the same layer without padding and those with padding of fewer channels among them, have 5; neither channels, shares, halo nor size tells them apart in more than this row",
	"encoder_conv_pad_c8_n8_k1x1_s1_g8_bias0_p0010_tiny": "the compiler pads with a depthwise task of two taps ahead of the layer; here the layer's own window is widened",
	"env_conv_k3_c64_n64_s16_st2_g1_bias0":               "the lengths of the lanes are the compiler's, the order of the taps in them is not known: none of 4 million has the hash (see sparse.go)",
	"conv_probe_k3_c64_n64_s64_st2_g1_bias0_same":        "the lengths of the lanes are the compiler's, the order of the taps in them is not known: none of 4 million has the hash (see sparse.go)",
}

// row is a line of the table for an example: whether text and constants are the
// compiler's, and the words that are not.
func row(t *testing.T, e *example) (line string, text, section bool) {
	t.Helper()
	c, err := Compile(e.layer, e.w)
	why := reasons[e.name]
	if err != nil {
		if why == "" {
			t.Errorf("%s: %v", e.name, err)
		}
		return fmt.Sprintf("| %s | refused: %v | | %s |\n", e.name, err, why), false, false
	}
	text = bytes.Equal(c.Text, e.text)
	state := "identical"
	if !text {
		state = differences(t, e, c)
	}
	constants := "no hash on record"
	if want := e.facts.hash(); want != "" {
		b := c.Constants
		if b == nil {
			b = make([]byte, 16384)
		}
		constants = "differ"
		if section = fmt.Sprintf("%x", sha256.Sum256(b)) == want; section {
			constants = "identical"
		}
	}
	if (text && constants != "differ") != (why == "") {
		t.Errorf("%s: text %s, constants %s, reason %q", e.name, state, constants, why)
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", e.name, state, constants, why), text, section
}

// differences names the words that differ from the example's, the first few of many.
func differences(t *testing.T, e *example, c *Lowered) string {
	t.Helper()
	if e.first != 0 && e.first != c.FirstWords {
		return fmt.Sprintf("a first descriptor of %d words for %d", c.FirstWords, e.first)
	}
	if d := compare(t, c.Text, e.text, c.FirstWords); len(d) > 0 && d[0].word == "tasks" {
		return fmt.Sprintf("%d descriptors for %d", d[0].got, d[0].want)
	}
	var names []string
	for _, d := range compare(t, c.Text, e.text, c.FirstWords) {
		names = append(names, fmt.Sprintf("task %d %s %#x for %#x", d.task, d.word, d.got, d.want))
	}
	slices.Sort(names)
	const most = 14
	if n := len(names) - most; n > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", n))
	}
	return strings.Join(names, ", ")
}

func (f *facts) hash() string {
	if f == nil {
		return ""
	}
	return f.Section.SHA256
}

const tableFile = "testdata/identity.md"

var update = flag.Bool("update", false, "write what testdata has of lowered programs")

// TestIdentity compares the text of every example that is one layer byte for byte and its
// constants by hash, and keeps the table of what is the compiler's and what is not.
func TestIdentity(t *testing.T) {
	type score struct{ same, of int }
	var lines strings.Builder
	var sections score
	chains := 0
	corpora, families := map[string]score{}, map[string]score{}
	list := examples(t)
	for i := range list {
		e := &list[i]
		if e.chain {
			chains++
			continue
		}
		line, text, section := row(t, e)
		lines.WriteString(line)
		if e.facts.hash() != "" {
			sections = score{sections.same + count(section), sections.of + 1}
		}
		add := func(m map[string]score, key string) { m[key] = score{m[key].same + count(text), m[key].of + 1} }
		add(corpora, e.corpus)
		add(families, "| "+e.corpus+" | "+e.family)
	}
	programs, others := corpora["programs"], corpora["oracles"]
	others.same, others.of = others.same+corpora["texts"].same, others.of+corpora["texts"].of
	var b strings.Builder
	fmt.Fprintf(&b, `# Lowered programs beside the compiler's

%d of %d texts of the programs are identical and %d of the %d oracles and texts that are one layer, and %d of the %d constant
sections whose hash is on record. %d oracles and texts are chains of several layers.

| corpus | family | identical | of |
|---|---|---|---|
`, programs.same, programs.of, others.same, others.of, sections.same, sections.of, chains)
	for _, f := range slices.Sorted(maps.Keys(families)) {
		fmt.Fprintf(&b, "%s | %d | %d |\n", f, families[f].same, families[f].of)
	}
	b.WriteString("\n| program | text | constants | why not |\n|---|---|---|---|\n" + lines.String())
	got := b.String()
	if *update {
		if err := os.WriteFile(tableFile, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what the examples give; run with -update and look at the difference", tableFile)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestPlacement compares the addresses of a built program with the compiler's.
func TestPlacement(t *testing.T) {
	for _, e := range examples(t) {
		if e.chain || e.facts == nil || len(e.facts.Resources) == 0 || reasons[e.name] != "" {
			continue
		}
		p, err := Lower(e.layer, e.w)
		if err != nil {
			t.Errorf("%s: %v", e.name, err)
			continue
		}
		for i, want := range e.facts.Resources {
			if got := fmt.Sprintf("%#x", p.BARs[4+i]); got != want {
				t.Errorf("%s: buffer %d at %s, want %s", e.name, 4+i, got, want)
			}
		}
		if got := fmt.Sprintf("%#x", p.TextAddr); got != e.facts.Text {
			t.Errorf("%s: text at %s, want %s", e.name, got, e.facts.Text)
		}
		got := fmt.Sprintf("%#x", p.BARs[regs.BARWeights])
		if want := e.facts.Constants; strings.HasPrefix(want, "0x") && got != want {
			t.Errorf("%s: constants at %s, want %s", e.name, got, want)
		}
		if !bytes.Equal(p.Text, e.text) {
			t.Errorf("%s: the container's text is not the one compared", e.name)
		}
	}
}
