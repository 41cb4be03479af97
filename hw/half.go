package hw

import "github.com/x448/float16"

type half = float16.Float16

// float reads a register's 16 bits as a half.
func float(bits uint16) half { return float16.Frombits(bits) }
