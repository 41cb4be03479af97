package hw

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/hw/dma"
	"anesim/hw/evidence"
	"anesim/hw/regs"
	"anesim/internal/datapath/mac"
	"anesim/internal/datapath/tiles"
)

// behind puts an activation table behind a convolution: every lane's block grows by it.
func behind(t *regs.Task, lanes, stride uint32) *regs.Task {
	g := &t.Groups
	g.NE.MACCfg = g.NE.MACCfg.WithNonlinearMode(regs.ActivationTable)
	for i := range lanes {
		g.KernelDMASrc.CoeffBaseAddr[i] = g.KernelDMASrc.CoeffBaseAddr[i].WithBytes(stride * i)
		g.KernelDMASrc.CoeffBfrSize[i] = g.KernelDMASrc.CoeffBfrSize[i].WithBytes(stride)
	}
	return t
}

func bytesAt(t *testing.T, m *dma.Memory, at uint64, b []byte) {
	t.Helper()
	dst, err := m.Bytes(at, uint64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	copy(dst, b)
}

func TestTableBehindMultiplyAccumulate(t *testing.T) {
	in, out := shape{2, 1, 4}, shape{3, 1, 4}
	sigmoid := mac.TableOf(mac.Sigmoid)
	table := sigmoid.Encode()
	m := newMemory(t)
	store(t, m, firstAt, []float32{1, 2, 3, 4}, []float32{-1, 0, 1, 2})
	weights := [3][2]float32{{1, 1}, {0.5, -1}, {-1, 0.25}}
	for i, w := range weights {
		block := append(append([]byte(nil), table[:]...), make([]byte, 64)...)
		for j, v := range w {
			binary.LittleEndian.PutUint16(block[128+2*j:], uint16(mac.Round(float64(v), mac.NearestEven)))
		}
		bytesAt(t, m, kernelAt+192*uint64(i), block)
	}
	task := behind(newConv(in, out), 3, 192)
	d := execute(t, m, task)
	got := load(t, m, resultAt, 3, 4)
	x := [2][4]float32{{1, 2, 3, 4}, {-1, 0, 1, 2}}
	for c, w := range weights {
		for i := range 4 {
			want := sigmoid.Eval(mac.Round(float64(w[0]*x[0][i]+w[1]*x[1][i]), mac.NearestAway)).Float32() // exact sums
			if got[c][i] != want {
				t.Errorf("channel %d, pixel %d: %v, want %v", c, i, got[c][i], want)
			}
		}
	}
	want := []evidence.Limit{{Kind: evidence.RestsOnAssumption, What: "values assume that the activation table precedes the weights of a lane, which no program shows; if it does not, they are wrong"}}
	if diff := cmp.Diff(want, d.Report().Descriptors[0].Limits); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
}

// Made-up constants are missing input; given ones that make no table have a form that
// is not known.
func TestUnreadableTable(t *testing.T) {
	s := shape{4, 2, 2}
	task := func() *regs.Task {
		p := newPass(s)
		p.Groups.NE.MACCfg = p.Groups.NE.MACCfg.WithNonlinearMode(regs.ActivationTable)
		k := &p.Groups.KernelDMASrc
		k.CoeffDMAConfig[0] = k.CoeffDMAConfig[0].WithEn(true)
		k.CoeffBfrSize[0] = k.CoeffBfrSize[0].WithBytes(mac.TableBytes)
		return p
	}
	for _, made := range []bool{false, true} {
		m := newMemory(t)
		want := evidence.MissingSpecification
		if made {
			want = evidence.MissingInput
			if err := m.MakeUp(kernelAt, mac.TableBytes); err != nil {
				t.Fatal(err)
			}
		}
		d := New(m, Options{Chip: M1(), Values: true, Workers: 1})
		d.Execute(task())
		r := &d.Report().Descriptors[0]
		if len(r.Limits) != 1 || r.Limits[0].Kind != want || !strings.Contains(r.Note(), "activation table") {
			t.Errorf("made up %v: %v", made, r.Limits)
		}
	}
}

// Channels 2c and 2c+1 of a product make channel c, as in the last task of a power.
func TestChannelProduct(t *testing.T) {
	m := newMemory(t)
	store(t, m, firstAt, []float32{1, 2}, []float32{3, -4}, []float32{0.5, 6}, []float32{-8, 0})
	task := newEngineTask(regs.ChannelProduct, shape{4, 1, 2}, shape{2, 1, 2})
	c := &task.Groups.Common
	c.GroupConvCfg = c.GroupConvCfg.WithUnicastEn(true).WithUnicastCin(2).WithElemMultMode(true)
	d := execute(t, m, task)
	if diff := cmp.Diff([][]float32{{3, -8}, {-4, 0}}, load(t, m, resultAt, 2, 2)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if l := d.Report().Descriptors[0].Limits; len(l) != 1 || l[0].Kind != evidence.RestsOnInference {
		t.Errorf("limits %v", l)
	}
}

// TestZeroOperandsAreCounted checks that multiplications by zeros are counted when values are
// computed. The energy is the same as without values; the saving is reported separately.
func TestZeroOperandsAreCounted(t *testing.T) {
	zero, dense := convolved(t, 0), convolved(t, 1)
	if zero.ZeroMACs != zero.MACs || zero.MACs == 0 || zero.ZeroSaves <= 0 || zero.ZeroSaves > zero.Parts.MAC {
		t.Errorf("all zeros: %d of %d, saving %v of %v", zero.ZeroMACs, zero.MACs, zero.ZeroSaves, zero.Parts.MAC)
	}
	if dense.ZeroMACs != 0 || dense.ZeroSaves != 0 || dense.Energy != zero.Energy {
		t.Errorf("no zeros: %d, saving %v; %v and %v", dense.ZeroMACs, dense.ZeroSaves, dense.Energy, zero.Energy)
	}
}

// convolved is a 1x1 convolution of two channels to two, whose source is one value.
func convolved(t *testing.T, v float32) *DescriptorReport {
	t.Helper()
	m := newMemory(t)
	for c := range uint64(2) {
		store(t, m, firstAt+256*c, []float32{v, v, v}, []float32{v, v, v}, []float32{v, v, v}, []float32{v, v, v})
	}
	task := newConv(shape{2, 4, 3}, shape{2, 4, 3})
	return &execute(t, m, task).Report().Descriptors[0]
}

// Multiplications by zeros that fill a row of the window are not multiply-accumulates, whatever
// their source. They cost as much as those with a zero operand, and as many cycles as others.
func TestZeroTaps(t *testing.T) {
	m := newMemory(t)
	store(t, m, firstAt, []float32{1, 0}, []float32{0, 1}, []float32{1, 1}) // and a row of zeros
	store(t, m, kernelAt, []float32{1, 2, 0, 0, 3, 4})
	task := newConv(shape{1, 4, 2}, shape{1, 2, 1})
	c := &task.Groups.Common
	c.ConvCfg = c.ConvCfg.WithKh(3).WithKw(2)
	read := func(addr, n uint64) []byte {
		b, err := m.Bytes(addr, n)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if got := NeededTaps(task, read); got != 4 {
		t.Fatalf("needs %d taps, want 4", got)
	}
	all := execute(t, m, task).Report().Descriptors[0]
	task.WindowTaps = 4
	some := execute(t, m, task).Report().Descriptors[0]
	if diff := cmp.Diff([][]float32{{8}, {2}}, load(t, m, resultAt, 2, 1)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Rows 0 and 2 of the window multiply 1 0 / 1 1 for the first result and 0 1 / 0 0 for the second.
	if all.MACs != 12 || all.ZeroTaps != 0 || all.ZeroMACs != 5 || some.MACs != 8 || some.ZeroTaps != 4 || some.ZeroMACs != 4 {
		t.Errorf("all taps: %d, %d, %d of zeros; some: %d, %d, %d", all.MACs, all.ZeroTaps, all.ZeroMACs, some.MACs, some.ZeroTaps, some.ZeroMACs)
	}
	p := M1().newParams()
	if want := p.mac.Times(8) + p.zeroMAC.Times(4); some.Cycles != all.Cycles || some.Parts.MAC != want || all.Parts.MAC != p.mac.Times(12) {
		t.Errorf("%v cycles and %v for multiply-accumulates, want %v and %v; %v of all taps", some.Cycles, some.Parts.MAC, all.Cycles, want, all.Parts.MAC)
	}
}

// Only a multiply-accumulate whose window has several taps and whose weights can be read has a count
// of needed taps.
func TestNeededTaps(t *testing.T) {
	row := make([]byte, 64)
	row[0], row[1] = 0, 0x3c // one weight of 1
	known := func(uint64, uint64) []byte { return row }
	for name, tc := range map[string]struct {
		change func(*regs.Task)
		read   func(addr, n uint64) []byte
		want   int
	}{
		"a window":        {func(*regs.Task) {}, known, 1},
		"a column":        {func(x *regs.Task) { x.Groups.Common.ConvCfg = x.Groups.Common.ConvCfg.WithKw(1) }, known, 1},
		"unknown weights": {func(*regs.Task) {}, func(uint64, uint64) []byte { return nil }, 0},
		"a short lane":    {func(*regs.Task) {}, func(uint64, uint64) []byte { return row[:2] }, 0},
		"a full window":   {func(*regs.Task) {}, func(_, n uint64) []byte { return bytes.Repeat([]byte{1}, int(n)) }, 0},
		"a pass":          {func(x *regs.Task) { x.Groups.NE.MACCfg = x.Groups.NE.MACCfg.WithOpMode(regs.PassThrough) }, known, 0},
		"one tap":         {func(x *regs.Task) { x.Groups.Common.ConvCfg = x.Groups.Common.ConvCfg.WithKw(1).WithKh(1) }, known, 0},
		"a planar task":   {func(x *regs.Task) { x.Groups.OnEngines = false; x.Groups.NE.MACCfg = regs.MACCfg{} }, known, 0},
		"a table before": {func(x *regs.Task) { x.Groups.NE.MACCfg = x.Groups.NE.MACCfg.WithNonlinearMode(regs.ActivationTable) },
			func(uint64, uint64) []byte { return append(bytes.Repeat([]byte{1}, mac.TableBytes), row...) }, 1},
		"a table cut short": {func(x *regs.Task) { x.Groups.NE.MACCfg = x.Groups.NE.MACCfg.WithNonlinearMode(regs.ActivationTable) }, known, 0},
	} {
		task := newConv(shape{1, 4, 2}, shape{1, 2, 1})
		task.Groups.Common.ConvCfg = task.Groups.Common.ConvCfg.WithKh(3).WithKw(2)
		tc.change(task)
		if got := NeededTaps(task, tc.read); got != tc.want {
			t.Errorf("%s: needs %d taps, want %d", name, got, tc.want)
		}
	}
}

// A device forgets tables one by one: a program that uses one more than it keeps still finds the others.
func TestTablesAreForgottenOneByOne(t *testing.T) {
	tables := map[[mac.TableBytes]byte]*mac.Table{}
	var d Device
	for i := range maxTables + 1 {
		spec := mac.TableSpec{Mode: mac.ModePlain, Low: -1, High: 1}
		table, err := mac.FitTable(func(x float64) float64 { return float64(i) }, spec)
		if err != nil {
			t.Fatal(err)
		}
		b := table.Encode()
		if tables[b], err = d.readTable([tiles.Engines][]byte{b[:]}); err != nil {
			t.Fatal(err)
		}
	}
	kept := 0
	for key, table := range d.tables {
		if tables[key] == table {
			kept++
		}
	}
	if kept != maxTables {
		t.Errorf("%d of %d tables are kept, want %d", kept, len(tables), maxTables)
	}
}

// A table that has a stream of its own, as later generations have, is not taken from the weights.
func TestTableStream(t *testing.T) {
	task := newConv(shape{1, 2, 2}, shape{1, 2, 2})
	task.Groups.NE.MACCfg = task.Groups.NE.MACCfg.WithNonlinearMode(regs.ActivationTable)
	task.Groups.TableStream = true
	if task.Groups.TableInLanes() {
		t.Error("the table is said to be in the weight streams")
	}
	d := New(newMemory(t), Options{Chip: M1(), Values: true, Workers: 1})
	if d.Execute(task) || len(d.Report().Faults) > 0 {
		t.Fatalf("values are claimed, or a fault: %v", d.Report().Faults)
	}
	r := d.Report().Descriptors[0]
	if r.Computed || len(r.Limits) != 1 || !strings.Contains(r.Limits[0].What, "stream of its own") {
		t.Errorf("computed %t, limits %v", r.Computed, r.Limits)
	}
}
