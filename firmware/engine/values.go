package engine

import (
	"fmt"

	"github.com/x448/float16"

	"anesim/hw/dma"
	"anesim/hw/evidence"
	"anesim/loader"
)

// prepareMemory announces to mem which range of each segment the tasks access, so that mem
// allocates the range once and in full. It also checks every port.
func prepareMemory(mem *dma.Memory, linked *loader.Linked) error {
	for _, r := range linked.Reach {
		if r == (loader.Reach{}) {
			continue
		}
		check := mem.Check
		if r.Written {
			check = mem.CheckWrite
		}
		if err := check(r.Low, r.End-r.Low); err != nil {
			return err
		}
	}
	for i := range linked.Program.Ports {
		if err := checkPort(mem, &linked.Program.Ports[i]); err != nil {
			return err
		}
	}
	return nil
}

// hasValuesInMemory reports whether the values of an input are already in device memory: from
// another program, from the host or from an earlier call.
func (c *Call) hasValuesInMemory(port *loader.Port) bool {
	_, lent := c.loaded.lent[portKey{port.Name, loader.Input}]
	return lent || c.loaded.written
}

// listInputLimits returns an [evidence.Limit] if more than MaxMadeUp elements of inputs have no
// values, so that the call does not compute values. Otherwise it returns the result of
// listMemoryLimits.
func (c *Call) listInputLimits() []evidence.Limit {
	room := MaxMadeUp
	for port := range c.loaded.program.Inputs() {
		if _, given := c.inputs[port.Name]; given || c.hasValuesInMemory(port) {
			continue
		}
		if _, set := c.loaded.setValues(port); set {
			continue
		}
		n := countElementsUpTo(port, room+1)
		if n > room {
			return []evidence.Limit{{
				Kind: evidence.MissingInput, Where: "port " + port.Name,
				What: fmt.Sprintf("missing values for shape %v; generated inputs are limited to %d elements in total", port.Shape, MaxMadeUp),
			}}
		}
		room -= n
	}
	return c.listMemoryLimits()
}

// listMemoryLimits returns an [evidence.Limit] if the tensors of the call take up more than
// maxWritten bytes of memory, so that the call does not compute values. With 8-bit elements the limit
// is smaller. Rows are aligned to 64
// bytes, so even tensors with few elements may take up that much.
func (c *Call) listMemoryLimits() []evidence.Limit {
	p := c.loaded.program
	limit := uint64(maxWritten)
	if c.linked.HasEightBit() {
		limit /= eightBitValues
	}
	room, ports := limit, map[uint64]bool{}
	take := func(bytes uint64) bool {
		fits := bytes <= room
		room -= min(room, bytes)
		return fits
	}
	fits := true
	for i := range p.Ports {
		ports[p.Ports[i].Address] = true
		fits = take(p.Ports[i].Bytes) && fits
	}
	for i := range p.Segments {
		if s := &p.Segments[i]; s.Data == nil && s.Prot&loader.ProtWrite != 0 && !ports[s.Addr] {
			fits = take(s.Size) && fits
		}
	}
	if fits {
		return nil
	}
	return []evidence.Limit{{
		Kind: evidence.NotModelled, Where: "its tensors",
		What: fmt.Sprintf("size with row padding exceeds %d bytes, the limit for computing values", limit),
	}}
}

// writeInputs writes the values of all inputs to device memory. It generates values for
// inputs that have none.
func (c *Call) writeInputs() error {
	l := c.loaded
	s := l.session
	for port := range l.program.Inputs() {
		data, given := c.inputs[port.Name]
		if !given && c.hasValuesInMemory(port) {
			continue
		}
		if !given { // another layout or buffer took the place of what was set
			data, given = l.setValues(port)
		}
		mark := s.mem.Give
		switch {
		case given:
		case l.isStatePort(port):
			data = make([]float16.Float16, Elements(port))
		default:
			data = PseudoRandom(port.Name, Elements(port), s.options.Seed)
			if c.linked.ReadsEightBit(port.BAR) {
				convertToTruthValues(data)
			}
			c.res.Synthetic = append(c.res.Synthetic, port.Name)
			mark = s.mem.MakeUp
		}
		if err := mark(port.Address, port.Bytes); err != nil {
			return err
		}
		if lent := c.canShareMemory(port) && s.mem.Lend(port.Address, data); !lent {
			if err := transferPort(s.mem, port, data, true); err != nil {
				return err
			}
		}
		c.res.Inputs = append(c.res.Inputs, Tensor{clonePort(port), data})
	}
	l.written = true
	return nil
}

// canShareMemory reports whether the result may share memory with the window of port p. This
// requires that the values are adjacent and that no later dispatch uses the window.
func (c *Call) canShareMemory(p *loader.Port) bool {
	return c.lend && len(c.loaded.state) == 0 && hasDenseElements(p)
}

// readOutputs returns the values of all outputs.
func (c *Call) readOutputs() (list []Tensor, err error) {
	l := c.loaded
	for port := range l.program.Outputs() {
		var data []float16.Float16
		shared := false
		if c.canShareMemory(port) {
			data, shared = l.session.mem.Halves(port.Address, uint64(Elements(port)))
		}
		if !shared {
			data = make([]float16.Float16, Elements(port))
			if err := transferPort(l.session.mem, port, data, false); err != nil {
				return nil, err
			}
		}
		list = append(list, Tensor{clonePort(port), data})
	}
	return list, nil
}

// clonePort returns a copy of port p that later bindings do not change.
func clonePort(p *loader.Port) *loader.Port {
	q := *p
	return &q
}
