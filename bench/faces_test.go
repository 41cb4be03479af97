package bench

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/dma"
	"anesim/loader"
)

// affordable returns the largest number of multiply-accumulates for which tests compute a program's
// values.
func affordable() uint64 {
	if testing.Short() || impl == "portable" {
		return 1 << 23
	}
	return 1 << 28
}

// executable reports whether tests can compute the values of p. It must need at most macs
// multiply-accumulates and have weights, or weights that can be generated: a bare text has none,
// and zero-skipping ones cannot be generated.
func executable(t *testing.T, p *loader.Program, macs uint64) bool {
	t.Helper()
	if p.Form == loader.FormText {
		for _, task := range tasks(t, []*loader.Program{p}) {
			if task.Groups.NE.KernelCfg.Sparse() {
				return false
			}
		}
	}
	return sound(t, p, anesim.Options{}).Report.MACs <= macs
}

// numbers returns d without the fields that depend on whether values were computed.
func numbers(d hw.DescriptorReport) hw.DescriptorReport {
	d.Computed, d.Limits = false, nil
	d.ZeroMACs, d.ZeroSaves = 0, 0 // values alone show zeros; cycles and energy are without them
	return d
}

// The timing face, the execution face and the Timer say the same of every descriptor.
func TestFacesAgree(t *testing.T) {
	executed, left := 0, 0
	for _, p := range everyProgram(t) {
		for _, chip := range hw.Chips() {
			res := sound(t, p, anesim.Options{Chip: chip})
			timed := res.Report
			chip.Target = res.Target() // a run finds it in the program
			timer := hw.NewTimer(chip)
			list := tasks(t, []*loader.Program{p})
			for i, task := range list {
				var d hw.DescriptorReport
				timer.Time(&d, task)
				if i == len(list)-1 {
					timer.Finish(&d)
				}
				want := timed.Descriptors[i]
				want.Prepares = false // the next task decides it, which the Timer has not seen
				if diff := cmp.Diff(want, d); diff != "" {
					t.Errorf("%s on %s, descriptor %d (-device +timer):\n%s", p.Name, chip.Name, i, diff)
				}
			}
			if !executable(t, p, affordable()) {
				left++
				continue
			}
			executed++
			values := sound(t, p, anesim.Options{Chip: chip, Values: true}).Report
			if len(timed.Descriptors) != len(values.Descriptors) {
				t.Errorf("%s on %s: %d descriptors timed, %d executed", p.Name, chip.Name, len(timed.Descriptors), len(values.Descriptors))
				continue
			}
			for i := range timed.Descriptors {
				if diff := cmp.Diff(numbers(timed.Descriptors[i]), numbers(values.Descriptors[i])); diff != "" {
					t.Errorf("%s on %s, descriptor %d (-timed +executed):\n%s", p.Name, chip.Name, i, diff)
				}
			}
			a, b := *timed, *values
			a.Descriptors, b.Descriptors = nil, nil
			if diff := cmp.Diff(a, b); diff != "" {
				t.Errorf("%s on %s, totals (-timed +executed):\n%s", p.Name, chip.Name, diff)
			}
		}
	}
	t.Logf("%d runs timed and executed, %d timed only", executed, left)
}

// Every cycle has one cause, and the totals are the sums of the descriptors.
func TestCausesSumToTheTotal(t *testing.T) {
	for _, p := range everyProgram(t) {
		r := sound(t, p, anesim.Options{}).Report
		var (
			cycles clock.Cycles
			time   clock.Nanoseconds
			energy = r.Dispatch
			macs   uint64
			moved  dma.Traffic
		)
		for i := range r.Descriptors {
			d := &r.Descriptors[i]
			sum, v := uint64(0), reflect.ValueOf(d.Cycles)
			for f := range v.NumField() {
				sum += v.Field(f).Uint()
			}
			if sum != uint64(d.Cycles.Total()) {
				t.Errorf("%s, descriptor %d: causes sum to %d, the total is %d", p.Name, i, sum, d.Cycles.Total())
			}
			cycles, time, energy, macs = cycles+d.Cycles.Total(), time+d.Time, energy+d.Energy, macs+d.MACs
			moved.Source1 += d.DMA.Source1
			moved.Source2 += d.DMA.Source2
			moved.Kernel += d.DMA.Kernel
			moved.Destination += d.DMA.Destination
		}
		if cycles != r.Cycles || time != r.Time || energy != r.Energy || macs != r.MACs || moved != r.DMA {
			t.Errorf("%s: the descriptors sum to %v cycles, %v, %v, %d multiply-accumulates, %v; the report has %v, %v, %v, %d, %v",
				p.Name, cycles, time, energy, macs, moved, r.Cycles, r.Time, r.Energy, r.MACs, r.DMA)
		}
	}
}

func TestTimeAllocatesNothing(t *testing.T) {
	list := tasks(t, everyProgram(t))
	timer := hw.NewTimer(hw.M1())
	var d hw.DescriptorReport
	if n := testing.AllocsPerRun(10, func() {
		for _, task := range list {
			timer.Time(&d, task)
		}
	}); n != 0 {
		t.Errorf("%v allocations for %d tasks", n, len(list))
	}
}

// Programs give the same bits whatever the number of workers.
func TestWorkersOfPrograms(t *testing.T) {
	for _, p := range everyProgram(t) {
		if !executable(t, p, affordable()>>3) {
			continue
		}
		one := sound(t, p, anesim.Options{Values: true, Workers: 1})
		two := sound(t, p, anesim.Options{Values: true, Workers: 2})
		sameOutputs(t, p.Name+" with two workers", one, two)
		if diff := cmp.Diff(one.Report, two.Report); diff != "" {
			t.Errorf("%s (-one worker +two):\n%s", p.Name, diff)
		}
	}
}

func sameOutputs(t *testing.T, what string, a, b *anesim.Result) {
	t.Helper()
	if len(a.Outputs) != len(b.Outputs) {
		t.Errorf("%s: %d outputs, want %d", what, len(b.Outputs), len(a.Outputs))
		return
	}
	for i := range a.Outputs {
		if x, y := checksum(a.Outputs[i].Data), checksum(b.Outputs[i].Data); x != y {
			t.Errorf("%s: output %s changes", what, a.Outputs[i].Port.Name)
		}
	}
}
