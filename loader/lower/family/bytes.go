package family

import (
	"anesim/loader/layer"
	"anesim/loader/lower/task"
)

// bytePort is a port of 8-bit elements, which programs see as half as many fp16 columns.
func (p *Plan) bytePort(name string, halves layer.Shape) task.Memory {
	if name == "y" {
		return p.output(name, halves)
	}
	return p.input(name, halves)
}
