package engine

import (
	"fmt"

	"github.com/x448/float16"

	"anesim/hw/dma"
	"anesim/hw/evidence"
	"anesim/loader"
)

// settle tells the memory how far the run's tasks reach into each segment, so that each
// takes what it needs at its first touch, and makes sure that every port can be walked.
func settle(mem *dma.Memory, linked *loader.Linked) error {
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

// standing reports whether an input is in memory already: another program, the host or the
// call before has left it there.
func (c *Call) standing(port *loader.Port) bool {
	_, lent := c.loaded.lent[portKey{port.Name, loader.Input}]
	return lent || c.loaded.written
}

// inputLimits returns a limit if the inputs that nobody gives have too many elements to make
// them up.
func (c *Call) inputLimits() []evidence.Limit {
	room := MaxMadeUp
	for port := range c.loaded.program.Inputs() {
		if _, given := c.inputs[port.Name]; given || c.standing(port) {
			continue
		}
		n := size(port, room+1)
		if n > room {
			return []evidence.Limit{{
				Kind: evidence.MissingInput, Where: "port " + port.Name,
				What: fmt.Sprintf("values of a port of shape %v are not made up: inputs that nobody gives have at most %d elements together", port.Shape, MaxMadeUp),
			}}
		}
		room -= n
	}
	return nil
}

// write puts the inputs into memory where the call's tasks find them.
func (c *Call) write() error {
	l := c.loaded
	s := l.session
	for port := range l.program.Inputs() {
		data, given := c.inputs[port.Name]
		if !given && c.standing(port) {
			continue
		}
		mark := s.mem.Give
		switch {
		case given:
		case l.isState(port):
			data = make([]float16.Float16, Elements(port))
		default:
			data = PseudoRandom(port.Name, Elements(port), s.options.Seed)
			if c.linked.ReadsEightBit(port.BAR) {
				truths(data)
			}
			c.res.Synthetic = append(c.res.Synthetic, port.Name)
			mark = s.mem.MakeUp
		}
		if err := mark(port.Address, port.Bytes); err != nil {
			return err
		}
		if lent := c.shares(port) && s.mem.Lend(port.Address, data); !lent {
			if err := transfer(s.mem, port, data, true); err != nil {
				return err
			}
		}
		c.res.Inputs = append(c.res.Inputs, Tensor{clonePort(port), data})
	}
	l.written = true
	return nil
}

// shares reports whether a port's values are stored in its window densely and in the same
// order, and only one dispatch is to have them there.
func (c *Call) shares(p *loader.Port) bool {
	return c.lend && len(c.loaded.state) == 0 && dense(p)
}

// read takes the outputs out of memory.
func (c *Call) read() (list []Tensor, err error) {
	l := c.loaded
	for port := range l.program.Outputs() {
		var data []float16.Float16
		shared := false
		if c.shares(port) {
			data, shared = l.session.mem.Halves(port.Address, uint64(Elements(port)))
		}
		if !shared {
			data = make([]float16.Float16, Elements(port))
			if err := transfer(l.session.mem, port, data, false); err != nil {
				return nil, err
			}
		}
		list = append(list, Tensor{clonePort(port), data})
	}
	return list, nil
}

// clonePort returns a copy of a port as it is bound now.
func clonePort(p *loader.Port) *loader.Port {
	q := *p
	return &q
}
