package lower

func (p *plan) pool() error {
	return p.layer.unsupported("no program shows the registers of a pooling window; use a depthwise convolution of 1/(kh*kw) for an average")
}
