package firmware

import "fmt"

// A Domain is a power domain of the engine.
type Domain int

// The five power domains.
const (
	Base Domain = iota
	Cluster0
	Cluster1
	Cluster2
	Cluster3

	domains = 1 + Clusters
)

// String names the domain.
func (d Domain) String() string {
	if d == Base {
		return "base"
	}
	return fmt.Sprintf("cluster %d", d-Cluster0)
}

// powerOn is the low byte of a status word whose domain is fully on; 0 is fully off
// (decompiled, table C.12).
const powerOn = 0xff

// status is the address of the domain's status word. The documents give 0xc000 + 8*d
// without a block; ANE is assumed, where the tile enables follow at 0xd014.
func (d Domain) status() uint64 { return baseANE + 0xc000 + 8*uint64(d) }

// PowerOn reports whether the domain's status word says that it is fully on.
func (c *Controller) PowerOn(d Domain) bool {
	return c.mmio.words[d.status()]&0xff == powerOn
}

// power switches on the base and every cluster with a tile enabled, and the others off.
func (c *Controller) power() {
	tiles := c.TileEnables()
	for d := range Domain(domains) {
		status := uint32(0)
		if d == Base || tiles&clusterTiles(int(d-Cluster0)) != 0 {
			status = powerOn
		}
		c.mmio.write(d.status(), 0xff, status)
	}
}
