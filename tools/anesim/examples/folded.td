# Three channels of eight values, copied onto one.
.port input  x b4 1x3x1x8
.port output y b5 1x3x1x8

.td
Header.LogEvents         0x42a
Header.Control           SPL TSR TSE SrcLoc DstLoc
Header.Bases             RBase0=4 RBE0 WBase=5 WBE ENE=3
Common.InDim             Win=8 Hin=1
Common.InDepth           Din=1
Common.ChCfg             InFmt=fp16 OutFmt=fp16
Common.Cin               3
Common.Cout              3
Common.OutDim            Wout=8 Hout=1
Common.OutDepth          Dout=1
Common.ConvCfg           Kw=1 Kh=1 Sx=1 Sy=1 Ox=1 Oy=1
0x20                     0x2041
Common.GroupConvCfg      NumGroups=1 UnicastEn UnicastCin=1
Common.TileCfg           TileHeight=1
Common.Cfg               ActiveNE=2 +0x1
Common.TaskInfo          TaskNID=1
TileDMASrc.Src1DMAConfig En CacheHint=8 CHReuse=8 CHNoReuse=3 DepMode=3
TileDMASrc.Src2DMAConfig CacheHint=8 CHReuse=8 CHNoReuse=8
TileDMASrc.Src1RowStride   0x40
TileDMASrc.Src1PlaneStride 0x40
TileDMASrc.Src1DepthStride 0xc0
TileDMASrc.Src1GroupStride 0xc0
TileDMASrc.Src1Fmt       FmtMode=1 Truncate=3 MemFmt=2 Interleave=1
L2.SourceCfg             Type=2 AConvSrc AConvRslt DMAFmt=1 DMAIntl=1 APlnrSrc APlnrRslt
L2.Src1ChannelStride     0x10
L2.Src1RowStride         0x30
L2.Src1DepthStride       0x30
L2.Src1GroupStride       0x30
L2.ResultCfg             Type=2 Dep_or_BfrMode=2 AConvSrc AConvRslt DMAFmt=1 DMAIntl=1 APlnrSrc APlnrRslt
L2.ResultBase            0x30
NE.KernelCfg             KernelFmt=fp16 PalBits=8
NE.MACCfg                OpMode=pass-through BinaryPoint=14 +0x100000
NE.PostScale             PostScale=1.0
TileDMADst.DstDMAConfig  En CacheHint=12 b26
TileDMADst.DstRowStride   0x40
TileDMADst.DstPlaneStride 0
TileDMADst.DstDepthStride 0xc0
TileDMADst.DstGroupStride 0xc0
TileDMADst.DstFmt        FmtMode=1 Truncate=3 MemFmt=2 ZeroPadLast ZeroPadFirst Interleave=1
