package command

import (
	"fmt"
	"io"

	"anesim"
	"anesim/hw"
	"anesim/hw/clock"
)

type jsonSpan struct {
	AtNs     float64 `json:"at_ns"`
	ForNs    float64 `json:"for_ns"`
	Watts    float64 `json:"watts"`
	EnergyNJ float64 `json:"energy_nj"`
	What     string  `json:"what"`
}

// jsonWall is a total with what the wall clock adds to the engine's. EnergyNJ is the
// engine's and the dispatches'; WallEnergy has the others too.
type jsonWall struct {
	jsonTotal
	IdleNs     float64 `json:"idle_ns"`
	IdleEnergy float64 `json:"idle_energy_nj"`
	WakeNs     float64 `json:"wake_ns"`
	WakeEnergy float64 `json:"wake_energy_nj"`
	HostEnergy float64 `json:"host_energy_nj"`
	WallEnergy float64 `json:"wall_energy_nj"`
	PeakW      float64 `json:"peak_w"`
}

// onTheWall adds the parts of a timeline to the engine's total, whose wall time has the
// host's part already.
func onTheWall(t jsonTotal, l *anesim.Timeline) jsonWall {
	t.WallNs += float64(l.Idle.Time + l.Wake.Time)
	return jsonWall{
		jsonTotal:  t,
		IdleNs:     float64(l.Idle.Time),
		IdleEnergy: float64(l.Idle.Energy),
		WakeNs:     float64(l.Wake.Time),
		WakeEnergy: float64(l.Wake.Energy),
		HostEnergy: float64(l.Host.Energy),
		WallEnergy: t.EnergyNJ + float64(l.Idle.Energy+l.Wake.Energy+l.Host.Energy),
		PeakW:      l.Peak(),
	}
}

func jsonSpans(l *anesim.Timeline) []jsonSpan {
	list := make([]jsonSpan, len(l.Spans))
	for i := range l.Spans {
		s := &l.Spans[i]
		list[i] = jsonSpan{float64(s.At), float64(s.For), s.Watts(), float64(s.Energy), s.What}
	}
	return list
}

// timeline lays a run out, with the host's part of it dealt evenly to its dispatches.
func timeline(res *anesim.Result, host clock.Nanoseconds, chip *hw.Chip) *anesim.Timeline {
	l := &anesim.Timeline{Waiting: chip.Waiting}
	for i := range res.Dispatches {
		l.Add(&res.Dispatches[i], host/clock.Nanoseconds(len(res.Dispatches)))
	}
	return l
}

// writeWall says what a run takes on the wall clock, where that is more than the
// engine's time.
func writeWall(w io.Writer, t *jsonWall, host clock.Nanoseconds, preset string, chip *hw.Chip) {
	wall := clock.Nanoseconds(t.WallNs)
	switch {
	case host > 0:
		fmt.Fprintf(w, "wall: %v, %v of it host %s\n", wall, host, preset)
	case t.IdleNs > 0:
		fmt.Fprintf(w, "wall: %v\n", wall)
	}
	if t.IdleNs > 0 {
		fmt.Fprintf(w, "idle: %v, %v (rails off after %v of a gap); wake: %v, %v; in all %v over the wall time\n",
			clock.Nanoseconds(t.IdleNs), clock.Nanojoules(t.IdleEnergy), clock.Nanoseconds(chip.RailsOff.Value),
			clock.Nanoseconds(t.WakeNs), clock.Nanojoules(t.WakeEnergy), clock.Nanojoules(t.WallEnergy))
	}
}

// watts is a descriptor's power.
func watts(d *hw.DescriptorReport) float64 {
	if d.Time <= 0 {
		return 0
	}
	return float64(d.Energy) / float64(d.Time)
}
