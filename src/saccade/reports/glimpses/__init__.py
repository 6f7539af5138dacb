"""The report `glimpses`: what an eye gains by choosing where it looks, by glimpses, scales, policy and clutter."""
