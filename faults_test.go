package anesim_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"anesim"
	"anesim/hw/clock"
	"anesim/internal/report"
)

// faultingNetwork has layers of 1, 1 and 5 descriptors. The values of each convolution take
// convolutionSteps of the budget, those of each descriptor of the softmax softmaxSteps.
const faultingNetwork = `
inputs:
  x: {c: 64, h: 8, w: 8}
layers:
  - {name: a, op: conv, from: x, cout: 64, k: 3, pad: same}
  - {name: b, op: conv, from: a, cout: 64, k: 3, pad: same}
  - {name: c, op: softmax, from: b}
outputs: [c]
`

const (
	convolutionSteps = 2359296
	softmaxSteps     = 65536
	dispatchSteps    = 2*convolutionSteps + 5*softmaxSteps
)

// The budget of values ends a run in any descriptor of any dispatch. Layers before the fault
// keep their dispatches, and the totals are the sums of the layers that are left.
func TestFaultsInRepeatedDispatches(t *testing.T) {
	for _, tc := range []struct {
		name       string
		budget     uint64 // of the three dispatches together
		dispatches int    // begun
		runs       [3]int // descriptors of each layer in the totals
	}{
		{"none", 3 * dispatchSteps, 3, [3]int{3, 3, 15}},
		{"first of first", convolutionSteps - 3, 1, [3]int{}},
		{"second of first", convolutionSteps, 1, [3]int{1, 0, 0}},
		{"last of first", dispatchSteps - 3, 1, [3]int{1, 1, 0}},
		{"first of second", dispatchSteps, 2, [3]int{}},
		{"second of second", dispatchSteps + convolutionSteps, 2, [3]int{2, 0, 0}},
		{"third of second", dispatchSteps + 2*convolutionSteps, 2, [3]int{2, 2, 0}},
		{"last of second", 2*dispatchSteps - 3, 2, [3]int{2, 2, 0}},
		{"last of last", 3*dispatchSteps - 3, 3, [3]int{3, 3, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, err := anesim.Read("faulting.yaml", strings.NewReader(faultingNetwork), int64(len(faultingNetwork)))
			if err != nil {
				t.Fatal(err)
			}
			res, err := m.Run(t.Context(), anesim.Options{Values: true, Repeat: 3, Budget: (tc.budget + 2) / 3})
			if err != nil {
				t.Fatal(err)
			}
			if n := len(res.Programs[0].Dispatches); n != tc.dispatches || (len(res.Report.Faults) > 0) != (tc.budget < 3*dispatchSteps) {
				t.Errorf("%d dispatches, faults %v", n, res.Report.Faults)
			}
			var runs [3]int
			for i := range res.Layers {
				if r := res.Layers[i].Report; r != nil {
					runs[i] = r.Count()
				}
			}
			if runs != tc.runs {
				t.Errorf("descriptors of the layers: %v, want %v", runs, tc.runs)
			}
			checkNetworkSums(t, report.NewNetwork(res))
		})
	}
}

// checkNetworkSums compares the totals of a network with the sums of its layers, and with the
// spans of its power.
func checkNetworkSums(t *testing.T, d *report.Network) {
	t.Helper()
	var sum report.Total
	for i := range d.Layers {
		x := &d.Layers[i].Total
		sum.Cycles += x.Cycles
		sum.TimeNs += x.TimeNs
		sum.EnergyNJ += x.EnergyNJ
		sum.MACs += x.MACs
		sum.DMABytes += x.DMABytes
	}
	all := &d.Total
	if sum.Cycles != all.Cycles || sum.MACs != all.MACs || sum.DMABytes != all.DMABytes ||
		!isNear(float64(sum.TimeNs), float64(all.TimeNs)) || !isNear(float64(sum.EnergyNJ), float64(all.EnergyNJ-all.DispatchNJ)) {
		t.Errorf("layers come to %+v\ntotal %+v", sum, all.Total)
	}
	var span clock.Nanoseconds
	var energy clock.Nanojoules
	for _, s := range d.Power {
		span += s.ForNs
		energy += s.EnergyNJ
	}
	if !isNear(float64(span), float64(all.WallNs)) || !isNear(float64(energy), float64(all.WallEnergyNJ)) {
		t.Errorf("spans of %v and %v; want %v and %v", span, energy, all.WallNs, all.WallEnergyNJ)
	}
}

func isNear(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }

// A program with state that faults keeps the dispatches before the fault, in the report as in
// the list of dispatches.
func TestFaultsOfProgramsWithState(t *testing.T) {
	m, err := anesim.Layer("add", "c=64")
	if err != nil {
		t.Fatal(err)
	}
	const steps = 64 * 16 // of a dispatch
	for budget := uint64(1); budget <= 3*steps; budget += steps / 4 {
		o := anesim.Options{Values: true, Repeat: 3, Budget: (budget + 2) / 3, State: []anesim.StateAlias{{Output: "y", Input: "z"}}}
		res, err := m.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		done := int(min(3, 3*o.Budget/steps))
		d := report.NewRun(res)
		listed := 0
		for i := range res.Programs[0].Dispatches {
			listed += len(res.Programs[0].Dispatches[i].Descriptors)
		}
		if len(d.Descriptors) != done || listed != done || (len(d.Faults) == 0) != (done == 3) || len(res.Programs[0].Dispatches) != min(3, done+1) {
			t.Errorf("budget %d: %d descriptors, %d in %d dispatches, faults %v; want %d", o.Budget, len(d.Descriptors), listed, len(res.Programs[0].Dispatches), d.Faults, done)
		}
		if sum := fmt.Sprint(sumCycles(d.Descriptors)); sum != fmt.Sprint(d.Total.Cycles) {
			t.Errorf("budget %d: descriptors take %s cycles, the run %d", o.Budget, sum, d.Total.Cycles)
		}
	}
}

func sumCycles(list []report.Descriptor) (n uint64) {
	for i := range list {
		n += list[i].Cycles.Total
	}
	return n
}
