package driver_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"anesim/internal/firmware/driver"
)

// Random calls leave device, ledger and memory consistent: every program the engine holds
// belongs to an open client, and everything goes when the clients do.
func FuzzCalls(f *testing.F) {
	f.Add(uint64(1), 200)
	f.Add(uint64(7), 1000)
	f.Fuzz(func(t *testing.T, seed uint64, n int) {
		d, m := boot(t)
		r := rand.New(rand.NewPCG(seed, 1))
		var clients []*driver.Client
		var kinds []driver.Kind
		for range min(max(n, 0), 2000) {
			if len(clients) == 0 || r.IntN(20) == 0 {
				k := driver.Kind(r.IntN(2))
				clients, kinds = append(clients, client(t, d, k, everything)), append(kinds, k)
				continue
			}
			i := r.IntN(len(clients))
			if r.IntN(40) == 0 {
				clients[i].Close()
				continue
			}
			if r.IntN(8) == 0 {
				m := driver.Methods()[r.IntN(len(driver.Methods()))]
				clients[i].Method(m.Name, uint64(r.IntN(3)), uint64(r.IntN(9)))
				clients[i].Lend(uint64(r.IntN(6)), clients[r.IntN(len(clients))])
				continue
			}
			table := driver.Selectors(kinds[i])
			s := &table[r.IntN(len(table))]
			a := arguments(s)
			if len(a.Struct) >= 8 && s.Number != 0 {
				binary.LittleEndian.PutUint64(a.Struct, uint64(r.IntN(6)))
			}
			if s.Number == 2 {
				a.Struct = (&driver.Request{Token: uint64(r.IntN(6)), Priority: uint32(r.IntN(8))}).Append(nil)
			}
			if r.IntN(10) == 0 {
				a.Struct = append(a.Struct, 0)
			}
			clients[i].Call(s.Number, a)
			if l := m.ctl.Ledger(); !l.Balanced() {
				t.Fatalf("%+v", l)
			}
			if m.loads != m.ctl.Programs() || m.loads < 0 {
				t.Fatalf("the engine holds %d programs, the controller %d", m.loads, m.ctl.Programs())
			}
		}
		for _, c := range clients {
			c.Close()
		}
		if n, bytes := d.Buffers(); m.loads != 0 || d.Clients() != 0 || d.Handles() != 0 || n != 0 || bytes != 0 || len(m.mapped) != 0 {
			t.Errorf("at rest %d programs, %d clients, %d handles, %d buffers", m.loads, d.Clients(), d.Handles(), n)
		}
	})
}
