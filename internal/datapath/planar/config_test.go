package planar

// subtract returns source 1 minus source 2: an addition with the second sign turned, as
// the compiler writes it (PE.Cfg 0xc0000).
func subtract() Config {
	c := Neutral(Add)
	c.Negate2 = true
	return c
}

// meanOf returns the task that averages n terms.
func meanOf(n int) Config {
	c := Neutral(Add)
	c.FinalScale = 1 / float32(n)
	return c
}
