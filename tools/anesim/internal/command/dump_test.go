package command

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"anesim/hw/regs"
	"anesim/internal/material"
	"anesim/internal/report"
	"anesim/loader"
	"anesim/loader/lower"
)

var updateGolden = flag.Bool("update", false, "write the golden files")

// dumped runs the command dump with args and returns its output. It fails the test if dump fails.
func dumped(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := invoke(append([]string{"dump"}, args...)...)
	if code != exitDone || errs != "" {
		t.Fatalf("dump %q: status %d, %s", args, code, errs)
	}
	return out
}

// writeFile writes data to a file with the given base name in a new directory, and returns the
// path.
func writeFile(t *testing.T, name string, data []byte) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

const capture = `# dimensions, and two bases
0x0000 0x00100010
0x0008 0x22
0x000c 3
0x0010, 0x80000003
0x4d10 0x40
0x4d2c 0x100
`

// toolOf matches the part of a document that changes from build to build.
var toolOf = regexp.MustCompile(`(?s)"tool": \{.*?\}`)

func TestDumpGolden(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
	}{
		{"identity.txt", []string{example(t, "identity")}},
		{"add_all.txt", []string{"--all", example(t, "add")}},
		{"captured.txt", []string{writeFile(t, "captured.regs", []byte(capture))}},
		{"captured.json", []string{"--json", writeFile(t, "captured.regs", []byte(capture))}},
	} {
		got := toolOf.ReplaceAllString(dumped(t, test.args...), `"tool": {}`)
		golden := filepath.Join("testdata", "dump", test.name)
		if *updateGolden {
			if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestDumpExamples(t *testing.T) {
	for _, name := range lower.Examples() {
		checkDump(t, example(t, name))
	}
}

// TestDumpReal dumps the programs of the reference material.
func TestDumpReal(t *testing.T) {
	t.Parallel()
	for _, f := range material.Files(t, "programs/*.hwx", "programs/text/*.bin") {
		checkDump(t, f)
	}
}

// dumpedJSON is the contract, read back.
type dumpedJSON struct {
	report.Header
	Form    string
	Subtype uint32
	Banner  *struct {
		Compiler, Version, Target string
		Flags                     map[string]string
	}
	Procedures []string
	Segments   []struct {
		Name, Section, Protection string
		Address, Bytes            uint64
		InFile                    int `json:"in_file"`
	}
	Ports []struct {
		Name, Direction, Type string
		Shape                 [4]int
		Strides               [4]uint64
		Address, Bytes        uint64
		Buffer                int
	}
	Descriptors []struct {
		Index       int
		Offset      uint32
		Description struct {
			Operation, Weights, Writes string
			Reads                      []string
		}
		Header    map[string]uint32
		Registers map[string]struct {
			Value   uint32
			Fields  map[string]uint32
			Unknown uint32
		}
	}
	Relocations []struct {
		Kind, Register                               string
		Descriptor, Offset, Bit, Width, Shift, Value int
		Target                                       int
	}
	Symbols []struct {
		Name                       string
		Type, Section, Desc, Value uint64
	}
}

// checkDump fails the test unless the text and the JSON of a dump agree with the program in the
// file.
func checkDump(t *testing.T, file string) {
	t.Helper()
	p, err := loader.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	var got dumpedJSON
	dec := json.NewDecoder(strings.NewReader(dumped(t, "--json", file)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
	for i, s := range got.Segments {
		if want := p.Segments[i]; s.Name != want.Name || s.Section != want.Section || s.Address != want.Addr || s.Bytes != want.Size || s.InFile != len(want.Data) {
			t.Errorf("%s: segment %+v, want %v", p.Name, s, &want)
		}
	}
	if (got.Banner != nil) != (p.Banner.Compiler != "") || got.Banner != nil && (got.Banner.Target != p.Banner.Target || len(got.Banner.Flags) > len(p.Banner.Flags)) {
		t.Errorf("%s: banner %+v", p.Name, got.Banner)
	}
	if got.Form != string(p.Form) || got.Subtype != uint32(p.Subtype) || len(got.Ports) != len(p.Ports) ||
		len(got.Symbols) != len(p.Symbols) || len(got.Relocations) != len(p.Relocations) {
		t.Errorf("%s: form %s, subtype %d, %d ports, %d symbols, %d relocations", p.Name,
			got.Form, got.Subtype, len(got.Ports), len(got.Symbols), len(got.Relocations))
	}
	for i, q := range got.Ports {
		want := p.Ports[i]
		if q.Name != want.Name || q.Direction != want.Direction.String() || q.Shape != want.Shape ||
			q.Strides != want.Strides || q.Address != want.Address || q.Bytes != want.Bytes || q.Buffer != want.BAR || q.Type != want.Type.String() {
			t.Errorf("%s: port %+v, want %+v", p.Name, q, want)
		}
	}
	for i, r := range got.Relocations {
		if want, ok := lookupRegister(r.Register); !ok || want.Addr() != p.Relocations[i].Register {
			t.Errorf("%s: relocation of %s, want %#x", p.Name, r.Register, p.Relocations[i].Register)
		}
	}
	text := dumped(t, file)
	for _, q := range p.Ports {
		if !strings.Contains(text, q.Name) {
			t.Errorf("%s: no port %s in the text", p.Name, q.Name)
		}
	}
	n := 0
	for d, err := range p.Descriptors() {
		if err != nil {
			t.Fatal(err)
		}
		if n == len(got.Descriptors) {
			t.Fatalf("%s: %d descriptors in the dump", p.Name, n)
		}
		g := got.Descriptors[n]
		if g.Index != d.Index || g.Offset != d.Offset {
			t.Errorf("%s: descriptor %d at %#x, want %d at %#x", p.Name, g.Index, g.Offset, d.Index, d.Offset)
		}
		if g.Description.Operation == "" || len(g.Description.Reads) == 0 || g.Description.Writes == "" || !strings.Contains(text, fmt.Sprintf("\ndescriptor %d: %s\n", n, g.Description.Operation)) {
			t.Errorf("%s: descriptor %d computes %+v", p.Name, n, g.Description)
		}
		words := make(map[uint32]uint32)
		for name, r := range g.Registers {
			reg, ok := lookupRegister(name)
			if !ok {
				t.Fatalf("%s: no register %s", p.Name, name)
			}
			words[reg.Addr()] = r.Value
			if w, unknown := fieldsWord(reg, r.Fields), reg.Unknown(r.Value); w|r.Unknown != r.Value || r.Unknown != unknown {
				t.Errorf("%s: %s is %#x, its fields %#x and %#x unknown", p.Name, name, r.Value, w, r.Unknown)
			}
		}
		want := make(map[uint32]uint32)
		for _, r := range d.Records {
			for i, v := range r.Values {
				want[r.Addr+4*uint32(i)] = v
			}
		}
		if diff := cmp.Diff(want, words); diff != "" {
			t.Errorf("%s: descriptor %d (-want +got):\n%s", p.Name, n, diff)
		}
		checkHeader(t, p.Name, d, g.Header)
		line := fmt.Sprintf("\n  at %#x: %d words, TID %d,", d.Offset, d.Words, d.Header.Task.TID())
		if !strings.Contains(text, line) {
			t.Errorf("%s: text has no line %q", p.Name, line)
		}
		n++
	}
	if n != len(got.Descriptors) {
		t.Errorf("%s: %d descriptors, want %d", p.Name, len(got.Descriptors), n)
	}
}

// checkHeader fails the test unless fields yields the words of the descriptor's header. The
// programs of the tests have no unknown bits in these words.
func checkHeader(t *testing.T, name string, d *regs.Descriptor, fields map[string]uint32) {
	t.Helper()
	if extra, ok := fields["extra"]; ok != d.Extended || extra != d.Extra {
		t.Errorf("%s: descriptor %d has the extra word %#x, %t", name, d.Index, extra, ok)
	}
	encoded := d.Append(nil)
	for r := range regs.HeaderRegisters() {
		want := binary.LittleEndian.Uint32(encoded[4*r.Word:])
		if w := fieldsWord(r, fields); w != want {
			t.Errorf("%s: descriptor %d, header %s is %#x, want %#x", name, d.Index, r.Name, w, want)
		}
	}
}

func fieldsWord(r regs.Register, fields map[string]uint32) uint32 {
	w := uint32(0)
	for _, f := range r.Fields {
		w = f.With(w, fields[f.Name])
	}
	return w
}

func lookupRegister(name string) (regs.Register, bool) {
	block, register, _ := strings.Cut(name, ".")
	return regs.Lookup(block, register)
}

// TestDumpOrder checks that registers are printed in the order of the stream.
func TestDumpOrder(t *testing.T) {
	out := dumped(t, "--json", example(t, "identity"))
	at := 0
	for _, name := range []string{"TID", "ExeCycles", "KBE3", "KernelDMASrc.Reserved00", "KernelDMASrc.CoeffTail[11]",
		"Common.InDim", "TileDMASrc.Src1DMAConfig", "L2.Cfg", "PE.Cfg", "NE.KernelCfg", "TileDMADst.DstFmt"} {
		i := strings.Index(out[at:], `"`+name+`":`)
		if i < 0 {
			t.Fatalf("%s is missing or out of order", name)
		}
		at += i
	}
}

// TestDumpUnknown checks that bits outside all named fields are printed, also in the header.
func TestDumpUnknown(t *testing.T) {
	p, err := lower.ExampleProgram("relu")
	if err != nil {
		t.Fatal(err)
	}
	text := bytes.Clone(p.Text)
	at := bytes.Index(text, binary.LittleEndian.AppendUint32(nil, 15<<26)) // the record of Common
	for _, word := range []int{0, at + 4 + 4*7} {                          // Task, ConvCfg
		text[word+3] |= 0x08
	}
	file := writeFile(t, "unknown.bin", text)
	for _, want := range []string{"EON, +0x8000000\n", "Oy 1, +0x8000000\n"} {
		if out := dumped(t, file); !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	out := dumped(t, "--json", file)
	var got struct {
		Descriptors []struct {
			Header struct {
				Unknown map[string]uint32 `json:"unknown"`
			}
			Registers map[string]struct{ Unknown uint32 }
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	d := got.Descriptors[0]
	if d.Header.Unknown["Task"] != 1<<27 || d.Registers["Common.ConvCfg"].Unknown != 1<<27 {
		t.Errorf("unknown bits %v, %#x", d.Header.Unknown, d.Registers["Common.ConvCfg"].Unknown)
	}
}

func TestDumpErrors(t *testing.T) {
	dir := t.TempDir()
	good := example(t, "concat")
	broken := brokenChain(t)
	junk := writeFile(t, "d", bytes.Repeat([]byte("junk"), 32))
	for _, test := range []struct {
		args   []string
		status int
		want   []string
	}{
		{nil, exitUsage, []string{"missing FILE argument"}},
		{[]string{"--frob", good}, exitUsage, []string{"--frob"}},
		{[]string{"--first-words", "9", good}, exitUsage, []string{"--first-words 9: want 10 to 512"}},
		{[]string{"--first-words", "157", good}, exitUsage, []string{"--first-words", good, "bare descriptor text"}},
		{[]string{filepath.Join(dir, "missing")}, exitFailed, []string{filepath.Join(dir, "missing"), "no such file"}},
		{[]string{dir}, exitFailed, []string{dir}},
		{[]string{junk}, exitFailed, []string{junk + ": byte 0x"}},
		{[]string{broken}, exitFailed, []string{broken + ": ", "descriptor 0", "next pointer 0x101"}},
		{[]string{"--json", broken}, exitFailed, []string{broken + ": ", "descriptor 0", "next pointer 0x101"}},
	} {
		out, line, status := invoke(append([]string{"dump"}, test.args...)...)
		if status != test.status || out != "" {
			t.Errorf("%q: status %d, want %d; printed %q", test.args, status, test.status, out)
		}
		if strings.Count(line, "\n") != 1 || strings.Count(line, ".hwx:") > 1 {
			t.Errorf("%q: not one line, or the file twice: %q", test.args, line)
		}
		for _, want := range test.want {
			if !strings.Contains(line, want) {
				t.Errorf("%q: %q does not say %q", test.args, line, want)
			}
		}
	}
}

// brokenChain writes a container in which the first descriptor points between two descriptors, and
// returns the name of its file.
func brokenChain(t *testing.T) string {
	t.Helper()
	data, err := lower.Example("concat")
	if err != nil {
		t.Fatal(err)
	}
	p, err := lower.ExampleProgram("concat")
	if err != nil {
		t.Fatal(err)
	}
	const next = 4 * 7
	at := bytes.Index(data, p.Text)
	binary.LittleEndian.PutUint32(data[at+next:], 0x101)
	return writeFile(t, "broken.hwx", data)
}

func TestDumpFirstWords(t *testing.T) {
	p, err := lower.ExampleProgram("relu")
	if err != nil {
		t.Fatal(err)
	}
	file := writeFile(t, "relu.bin", p.Text)
	out := dumped(t, file)
	if again := dumped(t, "--first-words", fmt.Sprint(p.FirstWords), file); again != out {
		t.Error(cmp.Diff(out, again))
	}
}

// TestDumpSeveral prints files one after the other, and standard input.
func TestDumpSeveral(t *testing.T) {
	relu, add := example(t, "relu"), example(t, "add")
	stdout, stderr, code := invoke("dump", relu, add)
	if code != exitDone || strings.Count(stdout, "container for M1/A14") != 2 || !strings.Contains(stdout, "sum of two sources") {
		t.Errorf("status %d, %s\n%s", code, stderr, stdout)
	}
}

// TestDumpOtherGeneration prints what does not depend on the generation, and says what of
// the rest is not known.
func TestDumpOtherGeneration(t *testing.T) {
	file, err := os.ReadFile(example(t, "relu"))
	if err != nil {
		t.Fatal(err)
	}
	file[8] = 6
	name := writeFile(t, "m3.hwx", file)
	stdout, stderr, code := invoke("dump", name)
	if code != exitDone || !strings.Contains(stdout, "A16/M3") || !strings.Contains(stdout, "Descriptors of this generation are not supported") ||
		!strings.Contains(stdout, "input   x") || strings.Contains(stdout, "descriptor 0") {
		t.Errorf("status %d, %s\n%s", code, stderr, stdout)
	}
	if _, stderr, code = invoke("dump", "--text", name); code != exitFailed || !strings.Contains(stderr, "version 7") {
		t.Errorf("as text: status %d, %s", code, stderr)
	}
}

// TestDumpIsFast holds the dump of the largest program at hand to the time a person does
// not notice; the bound has room for a busy machine.
func TestDumpIsFast(t *testing.T) {
	if testing.Short() {
		t.Skip("short runs are those under the race detector and of portable code: their times say nothing")
	}
	var chain []*regs.Descriptor
	p, err := lower.ExampleProgram("concat")
	if err != nil {
		t.Fatal(err)
	}
	for len(chain) < 60 { // more than any real chain has
		for d, err := range p.Descriptors() {
			if err != nil {
				t.Fatal(err)
			}
			chain = append(chain, d)
		}
	}
	name := writeFile(t, "chain.bin", regs.EncodeChain(loader.Sequence(chain...)))
	const bound = 100 * time.Millisecond
	best := time.Hour
	for n := 0; n < 50 && best > bound; n++ { // on a busy machine, one undisturbed run is enough
		start := time.Now()
		if _, stderr, code := invoke("dump", name); code != exitDone {
			t.Fatal(stderr)
		}
		best = min(best, time.Since(start))
	}
	if best > bound {
		t.Errorf("dump of %d descriptors takes %v", len(chain), best)
	}
	t.Logf("dump of %d descriptors: %v", len(chain), best)
}

// TestDumpDispatch prints the chain of a dispatch descriptor and finds its container by
// hash, as words and as JSON.
func TestDumpDispatch(t *testing.T) {
	dir := t.TempDir()
	program, err := lower.Example("relu")
	if err != nil {
		t.Fatal(err)
	}
	hwx, net := filepath.Join(dir, "relu.hwx"), filepath.Join(dir, "net.e5")
	if err := os.WriteFile(hwx, program, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := invoke("convert", hwx, "-o", net); code != exitDone {
		t.Fatal(stderr)
	}
	if out := dumped(t, net); !strings.Contains(out, "of relu.hwx\n") || !strings.Contains(out, "Op1_AneInference") {
		t.Error(out)
	}
	var got struct {
		Form       string
		Operations []struct {
			Type      string
			Inputs    []struct{ Shape [4]int }
			Inference *struct{ Container string }
		}
	}
	if err := json.Unmarshal([]byte(dumped(t, "--json", net)), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Operations) != 3 || got.Form != "dispatch" || got.Operations[0].Type != "Cast" || got.Operations[1].Inference == nil ||
		got.Operations[1].Inference.Container != "relu.hwx" || got.Operations[1].Inputs[0].Shape[0] != 1 {
		t.Errorf("%+v", got)
	}
	if err := os.Remove(hwx); err != nil {
		t.Fatal(err)
	}
	if out := dumped(t, net); !strings.Contains(out, "not in this file's directory") {
		t.Error(out)
	}
}

func TestDumpListWraps(t *testing.T) {
	out := dumped(t, example(t, "identity"))
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "    zero:") && len(line) > 100+1 {
			t.Errorf("line of %d: %s", len(line), line)
		}
		if trimmed := strings.TrimRight(line, " \n"); len(trimmed)+1 != len(line) {
			t.Errorf("trailing space: %q", line)
		}
	}
}
