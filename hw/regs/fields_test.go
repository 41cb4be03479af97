package regs_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"anesim/hw/regs"
	"anesim/internal/material"
)

// wordOf is the Go value that holds a register: of a group, or of the header.
func wordOf(t *testing.T, groups *regs.Groups, header *regs.Header, r regs.Register) reflect.Value {
	t.Helper()
	v := reflect.ValueOf(header).Elem()
	if r.Group != "H" {
		v = reflect.ValueOf(groups).Elem().FieldByName(r.Block)
	}
	name, index, isArray := strings.Cut(strings.TrimSuffix(r.Name, "]"), "[")
	v = v.FieldByName(name)
	if isArray {
		i := 0
		if _, err := fmt.Sscan(index, &i); err != nil {
			t.Fatal(err)
		}
		v = v.Index(i)
	}
	return v
}

// newWord returns a word of the given type, of a group or of the header, with the given bits.
func newWord(word reflect.Type, bits uint32) reflect.Value {
	v := reflect.New(word)
	*(*uint32)(v.UnsafePointer()) = bits // a word of a group is a struct of one uint32
	return v.Elem()
}

// bitsOf returns the bits of a word of a group or of the header.
func bitsOf(word reflect.Value) uint32 {
	if word.Kind() == reflect.Struct {
		word = word.Field(0)
	}
	return uint32(word.Uint())
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// Every setter of every field changes the field's bits and no others, its getter reads
// them back, and a value that does not fit panics.
func TestSetters(t *testing.T) {
	var groups regs.Groups
	var header regs.Header
	setters := 0
	test := func(r regs.Register) {
		word := wordOf(t, &groups, &header, r)
		if word.Type() == reflect.TypeFor[regs.DMAWord]() || word.Type() == reflect.TypeFor[regs.L2Word]() {
			return // see TestByteWords
		}
		for _, f := range r.Fields {
			name := r.Block + "." + r.Name + "." + f.Name
			getter := strings.ToUpper(f.Name[:1]) + f.Name[1:]
			with := word.MethodByName("With" + getter)
			if !with.IsValid() {
				t.Errorf("%s has no setter", name)
				continue
			}
			setters++
			mask := uint32(1<<f.Width-1) << f.Low
			param := with.Type().In(0)
			value := func(v uint32) []reflect.Value {
				if param.Kind() == reflect.Bool {
					return []reflect.Value{reflect.ValueOf(v != 0)}
				}
				return []reflect.Value{reflect.ValueOf(v).Convert(param)}
			}
			for _, old := range [...]uint32{0, math.MaxUint32, 0xa5a5_5a5a} {
				word := newWord(word.Type(), old)
				for _, v := range [...]uint32{0, 1, 1<<f.Width - 1} {
					got := word.MethodByName("With" + getter).Call(value(v))[0]
					if want := old&^mask | v<<f.Low; bitsOf(got) != want {
						t.Errorf("%s: %#x with %#x is %#x, want %#x", name, old, v, bitsOf(got), want)
					}
					if read := got.MethodByName(getter).Call(nil)[0]; !read.Equal(value(v)[0]) {
						t.Errorf("%s: reads %v after %#x", name, read, v)
					}
				}
			}
			if param.Kind() == reflect.Bool || param.Bits() <= f.Width {
				continue // no value is out of range
			}
			if !panics(func() { with.Call(value(1 << f.Width)) }) {
				t.Errorf("%s: %#x does not panic", name, uint32(1)<<f.Width)
			}
		}
	}
	for r := range regs.Registers() {
		test(r)
	}
	for r := range regs.HeaderRegisters() {
		test(r)
	}
	if setters < 200 {
		t.Errorf("only %d setters were tried", setters)
	}
}

// Every word of a group is opaque, so that only this package depends on where a field is.
func TestWordsAreOpaque(t *testing.T) {
	words := 0
	groups := reflect.TypeFor[regs.Groups]()
	for i := range groups.NumField() {
		group := groups.Field(i).Type
		if group == reflect.TypeFor[regs.Meanings]() {
			continue
		}
		for j := range group.NumField() {
			word := group.Field(j).Type
			if word.Kind() == reflect.Array {
				word = word.Elem()
			}
			words++
			if word.Kind() != reflect.Struct || word.NumField() != 1 || word.Field(0).IsExported() || word.Size() != 4 {
				t.Errorf("%s.%s is a %v, want a struct of one unexported uint32", group.Name(), group.Field(j).Name, word)
			}
		}
	}
	if words < 70 {
		t.Errorf("%d words", words)
	}
}

func TestByteWords(t *testing.T) {
	if w := regs.FromRaw[regs.DMAWord](0x3f).WithBytes(0x1240); regs.Raw(w) != 0x127f || w.Bytes() != 0x1240 {
		t.Errorf("DMA word %v of %#x bytes", w, w.Bytes())
	}
	if w := regs.FromRaw[regs.L2Word](0xffe0_000f).WithBytes(0x1f_fff0); regs.Raw(w) != math.MaxUint32 || w.Bytes() != 0x1f_fff0 {
		t.Errorf("L2 word %v of %#x bytes", w, w.Bytes())
	}
	for _, tc := range []struct {
		name string
		set  func()
	}{
		{"DMA bytes not of 64", func() { regs.DMAWord{}.WithBytes(0x20) }},
		{"L2 bytes not of 16", func() { regs.L2Word{}.WithBytes(0x18) }},
		{"L2 bytes of 2 MiB", func() { regs.L2Word{}.WithBytes(1 << 21) }},
	} {
		if !panics(tc.set) {
			t.Errorf("%s: no panic", tc.name)
		}
	}
}

// TestRegistersInGroups checks that the table and the generated structs have every register
// at the same word.
func TestRegistersInGroups(t *testing.T) {
	var f regs.File
	n := 0
	for r := range regs.Registers() {
		if err := f.Store(r.Addr(), r.Addr()<<8|1); err != nil {
			t.Fatalf("%s.%s: %v", r.Block, r.Name, err)
		}
		n++
	}
	if n != 140 || f.CountWritten() != 140 {
		t.Errorf("%d registers at %d addresses, want 140", n, f.CountWritten())
	}
	var g regs.Groups
	f.Snapshot(&g)
	words := map[string][]uint32{}
	for _, group := range []struct {
		block string
		words any
	}{
		{"KernelDMASrc", g.KernelDMASrc.Words()}, {"Common", g.Common.Words()}, {"TileDMASrc", g.TileDMASrc.Words()},
		{"L2", g.L2.Words()}, {"PE", g.PE.Words()}, {"NE", g.NE.Words()}, {"TileDMADst", g.TileDMADst.Words()},
	} {
		v := reflect.ValueOf(group.words)
		for i := range v.Len() {
			words[group.block] = append(words[group.block], uint32(v.Index(i).Uint()))
		}
	}
	for r := range regs.Registers() {
		want := r.Addr()<<8 | 1
		if got := bitsOf(wordOf(t, &g, nil, r)); got != want {
			t.Errorf("%s.%s holds %#x after a snapshot, want %#x", r.Block, r.Name, got, want)
		}
		if got := words[r.Block][r.Word]; got != want {
			t.Errorf("word %d of %s is %#x, want %#x", r.Word, r.Block, got, want)
		}
	}
}

func TestLookup(t *testing.T) {
	for _, tc := range []struct {
		block, register string
		addr            uint32
	}{
		{"PE", "Cfg", 0x8800}, {"g4", "cfg", 0x8800}, {"common", "INDIM", 0}, {"G0", "CoeffBfrSize[15]", 0x1f8c4},
	} {
		r, ok := regs.Lookup(tc.block, tc.register)
		if !ok || r.Addr() != tc.addr {
			t.Errorf("%s.%s: found %v at %#x, want %#x", tc.block, tc.register, ok, r.Addr(), tc.addr)
		}
	}
	for _, name := range [][2]string{{"PE", "InDim"}, {"H", "Task"}, {"", ""}} {
		if r, ok := regs.Lookup(name[0], name[1]); ok {
			t.Errorf("%v finds %s.%s", name, r.Block, r.Name)
		}
	}
	r, _ := regs.Lookup("Common", "InDim")
	if got := r.Unknown(math.MaxUint32); got != 1<<15|1<<31 {
		t.Errorf("unknown bits of InDim: %#x", got)
	}
	f, ok := r.Field("hIN")
	if !ok || f.Of(0x0040_0020) != 0x40 || f.Fits(1<<15) || !f.Fits(1<<15-1) || f.With(0x20, 0x40) != 0x0040_0020 {
		t.Errorf("field %+v", f)
	}
	if _, ok := r.Field("Cin"); ok {
		t.Error("InDim has no field Cin")
	}
	if !panics(func() { f.With(0, 1<<15) }) {
		t.Error("Field.With takes a value that does not fit")
	}
}

// The reference lists every register with its fields; the table may know more fields,
// by inference, and nothing else.
func TestTableAgainstReference(t *testing.T) {
	rows, err := csv.NewReader(bytes.NewReader(material.Read(t, "spec/registers-h13.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	byAddress := make(map[string][]string)
	for _, row := range rows[1:] {
		byAddress[row[2]] = row
	}
	if len(byAddress) != 140 {
		t.Fatalf("the reference has %d registers", len(byAddress))
	}
	for r := range regs.Registers() {
		row := byAddress[fmt.Sprintf("%#05x", r.Addr())]
		if row == nil {
			t.Errorf("the reference has no register at %#05x", r.Addr())
			continue
		}
		// A word the reference leaves unnamed has a name here once its meaning is known.
		if row[0] != r.Group || row[1] != r.Block || row[3] != r.Name && !strings.HasPrefix(row[3], "Reserved") {
			t.Errorf("%s %s.%s: the reference has %s %s.%s", r.Group, r.Block, r.Name, row[0], row[1], row[3])
		}
		missing := make(map[string]bool)
		inferred := make(map[string]bool) // bits whose reading is ours, under a name of our own
		for f := range strings.FieldsSeq(row[4]) {
			missing[f] = true
		}
		for _, f := range r.Fields {
			bits := fmt.Sprintf("%s:%d-%d", f.Name, f.Low, f.Low+f.Width-1)
			if !missing[bits] && f.Evidence != "inferred" {
				t.Errorf("%s.%s: field %s (%s) is not in the reference", r.Block, r.Name, bits, f.Evidence)
			}
			delete(missing, bits)
			if f.Evidence == "inferred" {
				_, at, _ := strings.Cut(bits, ":")
				inferred[at] = true
			}
		}
		for f := range missing {
			if _, at, _ := strings.Cut(f, ":"); inferred[at] {
				continue
			}
			t.Errorf("%s.%s: field %s of the reference is missing", r.Block, r.Name, f)
		}
	}
}

func TestEnumerationNames(t *testing.T) {
	for _, tc := range []struct {
		v    fmt.Stringer
		want string
	}{
		{regs.FormatFP16, "fp16"}, {regs.FormatInt8A, "8-bit(0)"}, {regs.FormatInt8B, "8-bit(1)"}, {regs.Format(3), "Format(3)"},
		{regs.MultiplyAccumulate, "multiply-accumulate"}, {regs.PassThrough, "pass-through"}, {regs.MantissaTable, "mantissa-table"},
		{regs.ChannelMaximum, "channel-maximum"}, {regs.MACOp(13), "MACOp(13)"},
		{regs.NoActivation, "none"}, {regs.ReLU, "relu"}, {regs.ActivationTable, "table"}, {regs.Nonlinear(3), "Nonlinear(3)"},
		{regs.PlanarAdd, "add"}, {regs.PlanarMul, "mul"}, {regs.PlanarMax, "max"}, {regs.PlanarMin, "min"},
		{regs.PlanarSumSquare, "sum-square"}, {regs.PlanarOp(7), "PlanarOp(7)"},
		{regs.FormTwoSources, "two-sources"}, {regs.FormConstant, "constant"}, {regs.FormReduction, "reduction"},
		{regs.FormTwoReduced, "two-reduced"}, {regs.PlanarForm(0), "PlanarForm(0)"},
	} {
		if got := tc.v.String(); got != tc.want {
			t.Errorf("%#v is named %q, want %q", tc.v, got, tc.want)
		}
	}
}

// TestRegisterAt finds every register by its address, and none between the windows.
func TestRegisterAt(t *testing.T) {
	n := 0
	for r := range regs.Registers() {
		n++
		if got, ok := regs.RegisterAt(r.Addr()); !ok || got.Group != r.Group || got.Word != r.Word {
			t.Errorf("%#x is %s.%s, %v, want %s.%s", r.Addr(), got.Block, got.Name, ok, r.Block, r.Name)
		}
	}
	if r, ok := regs.RegisterAt(0x100); ok || n == 0 {
		t.Errorf("%d registers, one of them at 0x100: %v", n, r)
	}
}

// TestEnumNames holds that every enumeration of the table has names.
func TestEnumNames(t *testing.T) {
	numbers := map[string]bool{"bool": true, "uint": true, "half": true, "single": true, "bytes64": true, "bytes16": true}
	for r := range regs.Registers() {
		for _, f := range r.Fields {
			_, zero := f.ValueName(0)
			_, two := f.ValueName(2)
			if !zero && !two && !numbers[f.Type] {
				t.Errorf("%s.%s.%s: type %s has no names", r.Block, r.Name, f.Name, f.Type)
			}
			if name, ok := f.ValueName(255); ok {
				t.Errorf("%s 255 is %s", f.Type, name)
			}
		}
	}
}
