package hw

import "github.com/x448/float16"

type half = float16.Float16

// halfFromBits converts a register's 16 bits to a half.
func halfFromBits(bits uint16) half { return float16.Frombits(bits) }
