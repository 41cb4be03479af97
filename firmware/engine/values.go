package engine

import (
	"github.com/x448/float16"

	"anesim/hw/dma"
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

// write puts the inputs into memory where the call's tasks find them.
func (c *Call) write() error {
	l := c.loaded
	s := l.session
	for port := range l.program.Inputs() {
		data, given := c.inputs[port.Name]
		if _, lent := l.lent[portKey{port.Name, loader.Input}]; lent && !given {
			continue // what another program or the host left there
		}
		if !given && l.written {
			continue // what the call before found there
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
