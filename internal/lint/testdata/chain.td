# y = max(0, 2x) + 2x: a product that goes to the scratch memory, a copy of it above zero that
# stays in the L2, and the sum of both.
.port input  x b4 1x4x2x16
.port output y b5 1x4x2x16
.scratch 0x200

.td                                   # 0: 2x, to the scratch memory
Header.LogEvents         0x408
Header.Control           SPL TSR TSE SrcLoc DstLoc
Header.Bases             RBase0=4 RBE0 WBase=3 WBE
Common.InDim             Win=16 Hin=2
Common.InDepth           Din=1
Common.ChCfg             InFmt=fp16 OutFmt=fp16
Common.Cin               4
Common.Cout              4
Common.OutDim            Wout=16 Hout=2
Common.OutDepth          Dout=1
Common.ConvCfg           Kw=1 Kh=1 Sx=1 Sy=1 Ox=1 Oy=1
0x20                     0x2041
Common.GroupConvCfg      NumGroups=1 UnicastCin=1
Common.TileCfg           TileHeight=2
Common.PlanarPatch       Log2W=4 Log2H=1
Common.Cfg               PlanarForm=constant +0x1
TileDMASrc.Src1DMAConfig En CacheHint=8 CHReuse=8 CHNoReuse=3 DepMode=3
TileDMASrc.Src2DMAConfig CacheHint=8 CHReuse=8 CHNoReuse=8
TileDMASrc.Src1RowStride   0x40
TileDMASrc.Src1PlaneStride 0x80
TileDMASrc.Src1DepthStride 0x200
TileDMASrc.Src1GroupStride 0x200
TileDMASrc.Src1Fmt       FmtMode=1 Truncate=3 MemFmt=2 Interleave=1
L2.SourceCfg             Type=2 AConvSrc AConvRslt DMAFmt=1 DMAIntl=1 APlnrSrc APlnrRslt
L2.Src1Base              0x200
L2.Src1ChannelStride     0x20
L2.Src1RowStride         0xa0
L2.Src1DepthStride       0x80
L2.Src1GroupStride       0x80
L2.ResultCfg             Type=2 Dep_or_BfrMode=2 AConvSrc AConvRslt DMAFmt=1 DMAIntl=1 APlnrSrc APlnrRslt
L2.ResultBase            0x340
PE.Cfg                   OpMode=add
PE.BiasScale             Scale=2.0
PE.PreScale              Scale=1.0
PE.FinalScale            1.0
NE.MACCfg                +0x100000
TileDMADst.DstDMAConfig  En CacheHint=12 b26
TileDMADst.DstRowStride   0x40
TileDMADst.DstPlaneStride 0x80
TileDMADst.DstDepthStride 0x200
TileDMADst.DstGroupStride 0x200
TileDMADst.DstFmt        FmtMode=1 Truncate=3 MemFmt=2 ZeroPadLast ZeroPadFirst Interleave=1

.td                                   # 1: what of it is above zero, to the L2; its source is kept
Header.Task              TID=1 LNID
Header.LogEvents         0x400
Header.Control           SPL SrcLoc
Header.Bases             RBase0=3 RBE0 ENE=3
Common.GroupConvCfg      NumGroups=1 UnicastEn UnicastCin=1
Common.PlanarPatch       0
Common.Cfg               ActiveNE=2 +0x1
Common.TaskInfo          TaskNID=1
TileDMASrc.Src1DMAConfig En CacheHint=8 CHReuse=8 CHNoReuse=3 DepMode=3 +0x40000
L2.SourceCfg             Type=1 AConvSrc AConvRslt DMAFmt=1 DMAIntl=1 APlnrRslt
L2.Src1RowStride         0x80
L2.ResultCfg             DMAFmt=1 DMAIntl=1
L2.ResultBase            0x0
L2.ResultChannelStride   0x20
L2.ResultRowStride       0x80
L2.ResultDepthStride     0x80
NE.KernelCfg             KernelFmt=fp16 PalBits=8
NE.MACCfg                OpMode=pass-through BinaryPoint=14 NonlinearMode=relu +0x100000
NE.PostScale             PostScale=1.0
TileDMADst.DstDMAConfig  CacheHint=12

.td                                   # 2: the sum, to y
Header.Task              TID=2 LNID EON
Header.LogEvents         0x422
Header.Control           TSR TSE DstLoc
Header.Bases             WBase=5 WBE
Common.ChCfg             InFmt=fp16 OutFmt=fp16 +0x8
Common.GroupConvCfg      NumGroups=1 UnicastCin=1
Common.PlanarPatch       Log2W=4 Log2H=1
Common.Cfg               PlanarForm=two-sources +0x1
Common.TaskInfo          0
TileDMASrc.Src1DMAConfig CacheHint=8 CHReuse=8 CHNoReuse=8
L2.SourceCfg             AConvRslt DMAIntl=1
L2.Src1Base              0x0
L2.Src2Base              0x200
L2.Src2ChannelStride     0x20
L2.Src2RowStride         0x80
L2.Src2DepthStride       0x80
L2.ResultCfg             Type=2 Dep_or_BfrMode=2 DMAFmt=1 DMAIntl=1
L2.ResultBase            0x340
PE.Cfg                   OpMode=add
NE.KernelCfg             PreviousPlanar
NE.MACCfg                +0x100000
TileDMADst.DstDMAConfig  En CacheHint=12 b26
